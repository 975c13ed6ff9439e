"""workload.toml: a workload's program, needs, parameters, sizes and measures.

::

    FOLDER/workload.toml     keys below; every one is checked
           run.sh            what the guest's shell runs
           *.c               built on this host, if `sources` names them
           data.py           writes the data on this host, if `data` names it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from cxlab.error import Code, InputError
from cxlab.run.errors import BadRequest
from cxlab.run.options import sampling
from cxlab.run.size import parse_bytes

FILE = "workload.toml"
#: A value of a parameter or of a size.
Value = int | float | str


class Parameter(Struct, forbid_unknown_fields=True, frozen=True):
    """A setting of a workload that a user may change."""

    about: str
    default: Value
    #: the valid ones; none: any of the default's type
    values: list[Value] = []


class Measure(Struct, forbid_unknown_fields=True, frozen=True):
    """A figure that each run prints once: ``measure NAME VALUE``."""

    about: str
    unit: str
    better: Literal["more", "less", "neither"]


class Size(Struct, forbid_unknown_fields=True, frozen=True):
    """How large everything is; each size of a workload has the same keys."""

    about: str
    values: dict[str, Value]


class Document(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Content of workload.toml."""

    about: str
    #: package: somebody's program, unmodified; stand-in: a program of ours that really computes the same kind
    program: Literal["package", "stand-in"]
    #: what runs; of a stand-in also what it stands for
    what: str
    means: str
    script: str
    measures: dict[str, Measure]
    sizes: dict[str, Size]
    parameters: dict[str, Parameter] = {}
    #: processors of the guest, or the parameter that says how many
    cpus: int | str = 1
    #: keep caches warm up to the marker, or the parameter or value of the sizes that says so (0: no)
    warm_up: bool | str = False
    #: windows that a run on one processor times, as ``--sample`` takes them; None: every instruction is timed
    sample: str | None = None
    #: the same for a run on several processors, whose windows lie in simulated time
    sample_of_several: str | None = None
    #: C files of the program $WORKLOAD_BUILD/program
    sources: list[str] = []
    flags: list[str] = []
    #: a Python file that writes the data into a folder
    data: str | None = None
    #: size of a file system on the machine's drive that has a copy of the data, as ``--disk`` takes it
    disk: str | None = None
    #: values that the data depends on; `seed` is one if each seed has data of its own
    data_of: list[str] = []
    #: Debian package -> how its version begins
    debian: dict[str, str] = {}
    #: PyPI package -> its version
    pypi: dict[str, str] = {}
    #: other files of the folder that the script and the data need
    files: list[str] = []


@dataclass(frozen=True)
class Workload:
    """A workload and where it is."""

    name: str
    folder: Path
    document: Document

    @property
    def what(self) -> str:
        """One line about the program that runs."""
        return (
            f"stand-in: {self.document.what}" if self.document.program == "stand-in" else self.document.what
        )

    @property
    def subject(self) -> str:
        """The first line of every output: what drives the machine."""
        return f"workload: real program: {self.what}"

    def cpus(self, values: Mapping[str, Value]) -> int:
        """Processors of the guest."""
        cpus = self.document.cpus
        return cpus if isinstance(cpus, int) else int(values[cpus])

    def sample(self, values: Mapping[str, Value]) -> str | None:
        """Windows that a run times; None: every instruction is timed."""
        return self.document.sample if self.cpus(values) == 1 else self.document.sample_of_several

    def warm_up(self, values: Mapping[str, Value]) -> bool:
        """Whether caches are kept warm up to the marker."""
        warm_up = self.document.warm_up
        return warm_up if isinstance(warm_up, bool) else bool(values[warm_up])

    def values(self, size: str, asked: Sequence[str]) -> dict[str, Value]:
        """The size's values and the parameters, as ``asked`` (NAME=VALUE) changes them.

        Raises:
            InputError: no such size or parameter, or a wrong value.

        """
        sizes = self.document.sizes
        if size not in sizes:
            raise InputError(
                Code.WORKLOAD, f"--size {size}", f"{self.name} has no such size", ", ".join(sizes)
            )
        values = {name: one.default for name, one in self.document.parameters.items()} | sizes[size].values
        for item in asked:
            name, equals, text = item.partition("=")
            if not equals or name not in values:
                raise InputError(
                    Code.WORKLOAD,
                    f"--with {item}",
                    f"{self.name} has no such parameter",
                    f"{', '.join(values)}, each with =VALUE",
                )
            values[name] = self._value(item, name, text, values[name])
        return values

    def _value(self, item: str, name: str, text: str, default: Value) -> Value:
        """``text`` as the parameter has it."""
        kind = type(default)
        try:
            value = kind(text)
        except ValueError:
            word = {int: "a whole number", float: "a number"}[kind]
            raise InputError(Code.WORKLOAD, f"--with {item}", f"`{text}` is not {word}", word) from None
        parameter = self.document.parameters.get(name)
        valid = parameter.values if parameter is not None else []
        if valid and value not in valid:
            listed = ", ".join(map(str, valid))
            raise InputError(Code.WORKLOAD, f"--with {item}", f"`{text}` is no value of {name}", listed)
        if isinstance(value, int | float) and value < 0:
            raise InputError(Code.WORKLOAD, f"--with {item}", "the value is negative", "0 or more")
        return value


def load(folder: Path) -> Workload:
    """Read the workload of a folder.

    Raises:
        InputError: there is none, or its description is wrong.

    """
    file = folder / FILE
    try:
        document = msgspec.toml.decode(file.read_bytes(), type=Document)
    except OSError as error:
        valid = "a folder with a workload.toml, or a name of `cxlab workload list`"
        raise InputError(Code.WORKLOAD, str(file), error.strerror or str(error), valid) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        valid = "the keys of EXTENDING.md, `A workload`"
        raise InputError(Code.WORKLOAD, str(file), str(error), valid) from None
    workload = Workload(folder.resolve().name, folder.resolve(), document)
    for key, found, valid in _faults(workload):
        raise InputError(Code.WORKLOAD, f"{file}: {key}", found, valid)
    return workload


def _faults_of_disk(size: str, data: str | None) -> list[tuple[str, str, str]]:
    if data is None:
        return [("disk", "there is no data for it", "a file in `data`, or no disk")]
    try:
        parse_bytes(size)
    except BadRequest:
        return [("disk", size, "a size, as 512M or 2G")]
    return []


def _faults_of_samples(document: Document) -> list[tuple[str, str, str]]:
    faults = []
    for key, text, cpus, valid in (
        ("sample", document.sample, 1, f"{sampling.AUTO}, or {sampling.EXAMPLE}"),
        ("sample_of_several", document.sample_of_several, 2, sampling.EXAMPLE_OF_SEVERAL),
    ):
        try:
            sampling.parse(text, 0, cpus)
        except BadRequest as fault:
            faults.append((key, str(fault), valid))
    return faults


def _faults(workload: Workload) -> list[tuple[str, str, str]]:
    """Key, what is wrong, what is valid."""
    document, faults = workload.document, []
    for key, files in (
        ("script", [document.script]),
        ("sources", document.sources),
        ("data", [document.data] if document.data is not None else []),
        ("files", document.files),
    ):
        faults += [
            (key, f"there is no file {name}", "a file, its path from the folder of workload.toml")
            for name in files
            if not (workload.folder / name).is_file()
        ]
    if not document.sizes:
        faults.append(("sizes", "is empty", "one size or more, as [sizes.tiny]"))
    if not document.measures:
        faults.append(("measures", "is empty", "one measure or more"))
    of_sizes = [key for size in document.sizes.values() for key in size.values]
    named = dict.fromkeys([*document.parameters, *of_sizes])
    if isinstance(document.warm_up, str) and document.warm_up not in named:
        valid = f"true, false, a parameter or a value of the sizes: {', '.join(named) or 'there is none'}"
        faults.append(("warm_up", document.warm_up, valid))
    if isinstance(document.cpus, str):
        numbers = [name for name, one in document.parameters.items() if isinstance(one.default, int)]
        if document.cpus not in numbers:
            valid = f"a whole number, or a parameter that is one: {', '.join(numbers) or 'there is none'}"
            faults.append(("cpus", document.cpus, valid))
    elif document.cpus < 1:
        faults.append(("cpus", str(document.cpus), "1 or more"))
    if document.disk is not None:
        faults += _faults_of_disk(document.disk, document.data)
    faults += _faults_of_samples(document)
    keys: set[str] | None = None
    for name, size in document.sizes.items():
        keys = set(size.values) if keys is None else keys
        if set(size.values) != keys:
            faults.append(
                (f"sizes.{name}", f"has {', '.join(size.values)}", f"as other sizes: {', '.join(keys)}")
            )
    known = {*document.parameters, *(keys or ()), "seed"}
    faults += [
        ("data_of", f"{name} is no value", ", ".join(sorted(known)))
        for name in document.data_of
        if name not in known
    ]
    for name in (*document.parameters, *(keys or ())):
        if not name.isidentifier() or name.upper() == name or name in ("seed", *RESERVED):
            faults.append((name, "is no name of a parameter", "a word in small letters, other than seed"))
    return faults


#: Variables of a shell that a parameter must not change.
RESERVED = ("status",)


def shipped(folder: Path) -> Mapping[str, Path]:
    """The folders of the workloads in a folder, by name."""
    return {found.parent.name: found.parent for found in sorted(folder.glob(f"*/{FILE}"))}
