"""Prepares this host for a workload: packages, its program, its data.

Debian's packages must be installed. Those of PyPI are fetched into a folder of their own, so they
change nothing of this environment. That folder, program and data are kept in the cache
(`cxlab.run.guest.cache`), under a hash of all that they are made from.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cxlab.error import Code, InputError
from cxlab.run.guest import artefacts, cache
from cxlab.run.options import disk
from cxlab.workload.description import Value, Workload

#: Name of the program that the C files make.
PROGRAM = "program"


@dataclass(frozen=True)
class Prepared:
    """Folders that the script in the guest is told of."""

    build: Path
    data: Path | None
    #: packages of PyPI
    python: Path | None

    def variables(self, workload: Workload, values: Mapping[str, Value], seed: int) -> dict[str, str]:
        """The script's variables: each value, the seed, and where things are."""
        return {
            **{name: str(value) for name, value in values.items()},
            "seed": str(seed),
            "WORKLOAD_BUILD": str(self.build),
            "WORKLOAD_FOLDER": str(workload.folder),
            "WORKLOAD_DATA": str(self.data) if self.data is not None else "",
            "WORKLOAD_PYTHON": sys.executable,
            "WORKLOAD_DISK": "" if workload.document.disk is None else str(disk.DISK_AT.default),
            "WORKLOAD_TOOLS": str(artefacts.FOLDER),
            **_python_path(self.python),
        }


def missing(workload: Workload) -> list[str]:
    """Packages that are not here in the version that the workload names, each with why."""
    found = []
    for package, begins in workload.document.debian.items():
        query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package]
        try:
            done = subprocess.run(query, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise InputError(
                Code.WORKLOAD,
                workload.name,
                "this host has no dpkg-query",
                "Debian 12, whose packages it names",
            ) from None
        status, _, version = done.stdout.partition(" ")
        if status != "installed":
            found.append(f"Debian package {package} is not installed")
        elif not version.startswith(begins):
            found.append(f"Debian package {package} is {version}, not {begins}*")
    return found


def install_command(workload: Workload) -> str:
    """Return the command that installs Debian's packages."""
    return "apt-get install --no-install-recommends " + " ".join(workload.document.debian)


def prepare(workload: Workload, values: Mapping[str, Value], seed: int) -> Prepared:
    """Check the packages, build the program, write the data.

    Raises:
        InputError: a package is missing, or a program or the data could not be made.

    """
    if found := missing(workload):
        raise InputError(
            Code.WORKLOAD,
            workload.name,
            "; ".join(found),
            "the packages of its workload.toml",
            f"run scripts/setup workloads, or: {install_command(workload)}",
        )
    python = fetched(workload)
    return Prepared(_build(workload), _data(workload, values, seed, python), python)


def fetched(workload: Workload) -> Path | None:
    """The folder with the packages of PyPI, which pip fills the first time; None: it needs none."""
    wanted = [f"{name}=={version}" for name, version in workload.document.pypi.items()]
    if not wanted:
        return None
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]

    def fill(folder: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", *quiet, "--target", str(folder), *wanted]
        _run(workload, "pypi", command)

    # Workloads that name the same packages share them.
    return cache.entry(f"workloads/pypi-{_hash(*(one.encode() for one in wanted))}", fill)


def _python_path(python: Path | None) -> dict[str, str]:
    return {} if python is None else {"PYTHONPATH": str(python)}


def _hash(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()[:20]


def _run(
    workload: Workload, what: str, command: list[str], variables: Mapping[str, str] | None = None
) -> None:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=workload.folder,
            env={**os.environ, **(variables or {})},
        )
    except FileNotFoundError:
        found = f"{command[0]} is missing"
        raise InputError(
            Code.WORKLOAD, workload.name, found, "a host with a C compiler", "apt-get install gcc"
        ) from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise InputError(Code.WORKLOAD, f"{workload.folder}: {what}", said, "files that its tools accept")


def _build(workload: Workload) -> Path:
    """The folder with the program; without C files an empty one."""
    sources = [workload.folder / name for name in workload.document.sources]
    beside = sorted({header for source in sources for header in source.parent.glob("*.h")})
    beside += sorted(artefacts.INCLUDE.rglob("*.h"))
    read = [file.read_bytes() for file in (*sources, *beside)]
    flags = [flag for flag in workload.document.flags if not flag.startswith("-l")]
    libraries = [flag for flag in workload.document.flags if flag.startswith("-l")]
    name = _hash(*read, " ".join(workload.document.flags).encode())

    def fill(folder: Path) -> None:
        if sources:
            command = ["gcc", f"-I{artefacts.INCLUDE}", *flags, "-o", folder / PROGRAM, *sources, *libraries]
            _run(workload, "sources", list(map(str, command)))

    return cache.entry(f"workloads/{workload.name}/build-{name}", fill)


def _data(workload: Workload, values: Mapping[str, Value], seed: int, python: Path | None) -> Path | None:
    """The folder with the data; None: the program makes its own."""
    if workload.document.data is None:
        return None
    script = workload.folder / workload.document.data
    all_values = {**values, "seed": seed}
    arguments = [f"{name}={all_values[name]}" for name in sorted(workload.document.data_of)]
    beside = [(workload.folder / name).read_bytes() for name in workload.document.files]
    name = _hash(script.read_bytes(), *beside, *(argument.encode() for argument in arguments))

    def fill(folder: Path) -> None:
        _run(workload, "data", [sys.executable, str(script), str(folder), *arguments], _python_path(python))

    return cache.entry(f"workloads/{workload.name}/data-{name}", fill)
