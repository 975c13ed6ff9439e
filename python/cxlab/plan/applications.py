"""The applications file: a fleet, the servers it may be built from, and the applications that share it.

    [fleet]            instances = 1000
    [server]           vcpus = 192    dram = ["256 GiB", "512 GiB"]    cxl = ["256 GiB", "512 GiB"]
    [[application]]    name  r_d  r_c  footprint  vcpus  share  max_slowdown
                       (from_run = ["dram=DIR", ...] in place of r_d and r_c)

An instance has a footprint and vCPUs; `share` is its application's part of the instances. The service level
`max_slowdown` is the longest an application may take, over its time with all of its footprint in main memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cxlab.error import Code, InputError
from cxlab.plan.abstract_cost_model import R_C_RANGE, R_D_RANGE
from cxlab.plan.assumption import Assumption, Origin, Provenance
from cxlab.plan.quantity import Dimension, GiB, Interval, Range, parse
from cxlab.plan.runs import measure, read_runs
from cxlab.plan.toml_file import TomlFile

#: Up to a pebibyte, which is more than a server addresses [GiB].
_CAPACITY = Range(0.0, 2.0**20, low_open=True)
#: Up to more than a server has.
_VCPUS = Range(0.0, 2.0**20, low_open=True)

# What `cxlab plan mix --example` prints: a start for the user's own file. Throughputs and sizes are invented.
EXAMPLE = """\
[fleet]
instances = 1000                # of all applications together

[server]                        # the designs to choose from; no CXL memory is always one
vcpus = 192
dram = ["256 GiB", "512 GiB", "768 GiB", "1024 GiB"]
cxl = ["128 GiB", "256 GiB", "512 GiB"]

[[application]]
name = "key-value"
r_d = 10                        # throughput all in main memory, over all on SSD
r_c = "8 in 7..9"               # throughput all in CXL memory, over all on SSD: nominal in low..high
footprint = "64 GiB"            # of one instance
vcpus = 8                       # of one instance
share = "60 %"                  # of the instances
max_slowdown = 1.2              # service level: time over time all in main memory

[[application]]
name = "analytics"
r_d = 6                         # or: from_run = ["dram=DIR", "cxl=DIR", "slow=DIR"], from `cxlab run` results
r_c = "4..5.5"
footprint = "128 GiB"
vcpus = 16
share = "40 %"
max_slowdown = 1.5
"""


@dataclass(frozen=True)
class Kind:
    """The meaning of an application's key."""

    meaning: str
    dimension: Dimension
    valid: Range


APPLICATION_KEYS = {
    "r_d": Kind("throughput all in main memory, over all on SSD", Dimension.RATIO, R_D_RANGE),
    "r_c": Kind("throughput all in CXL memory, over all on SSD", Dimension.RATIO, R_C_RANGE),
    "footprint": Kind("memory of an instance", Dimension.CAPACITY, _CAPACITY),
    "vcpus": Kind("vCPUs of an instance", Dimension.COUNT, _VCPUS),
    "share": Kind("part of the instances", Dimension.FRACTION, Range(1e-9, 1.0)),
    "max_slowdown": Kind(
        "service level: longest time, over all in main memory", Dimension.RATIO, Range(1.0, 1e6)
    ),
}


@dataclass(frozen=True)
class Applications:
    """The content of an applications file."""

    path: Path
    names: tuple[str, ...]
    assumptions: tuple[Assumption, ...]  # fleet.instances, server.vcpus, and NAME.KEY of each application
    dram_choices: tuple[GiB, ...]  # main memory that a server may have
    cxl_choices: tuple[GiB, ...]  # CXL memory that a server may have, none included


def read_applications(path: Path) -> Applications:
    """Read an applications file. Raises `InputError`, naming file, line and key."""
    file = TomlFile.read(path)
    file.check_keys("", file.content, {"fleet", "server", "application"})
    fleet, server = file.table("fleet"), file.table("server")
    file.check_keys("fleet", fleet, {"instances"})
    file.check_keys("server", server, {"vcpus", "dram", "cxl"})
    many = Kind("instances in the fleet", Dimension.COUNT, Range(1.0, 1e9))
    cores = Kind("vCPUs of a server", Dimension.COUNT, _VCPUS)
    of_a_server = _assumption(file, "server", 0, server, "vcpus", "server.vcpus", cores)
    assumptions = [
        _assumption(file, "fleet", 0, fleet, "instances", "fleet.instances", many),
        of_a_server,
    ]
    tables = file.content.get("application")
    if not isinstance(tables, list) or not tables:
        raise InputError(
            Code.MISSING, f"{path}: [[application]]", "is not there", "at least one [[application]]"
        )
    names: list[str] = []
    for occurrence, table in enumerate(tables):
        name = _name(file, occurrence, table, names)
        names.append(name)
        found = _application(file, occurrence, table, name)
        _check_vcpus(next(one for one in found if one.key == f"{name}.vcpus"), of_a_server)
        assumptions += found
    _check_shares(path, names, {a.key: a for a in assumptions})
    cxl = _choices(file, server, "cxl", Range(0.0, _CAPACITY.high))
    return Applications(
        path,
        tuple(names),
        tuple(assumptions),
        dram_choices=_choices(file, server, "dram", _CAPACITY),
        cxl_choices=tuple(sorted({GiB(0.0), *cxl})),
    )


def _check_vcpus(instance: Assumption, server: Assumption) -> None:
    """An instance runs on one server."""
    if instance.value.high > server.value.low:
        found = f"is {instance.show()}: more than a server has, which is {server.show()}"
        raise InputError(Code.OUT_OF_RANGE, instance.field, found, f"at most {server.value.low:g}")


def _name(file: TomlFile, occurrence: int, table: dict[str, object], taken: list[str]) -> str:
    name = table.get("name")
    field = file.field("application", "name", occurrence)
    if not isinstance(name, str) or re.fullmatch(r"[\w-]+", name) is None:
        raise InputError(Code.MISSING, field, f"is {name!r}", "a name of letters, digits, '-' and '_'")
    if name in taken or name in ("fleet", "server"):
        raise InputError(Code.CONFLICT, field, f"{name!r} is taken", "a name of its own for each application")
    return name


def _application(file: TomlFile, occurrence: int, table: dict[str, object], name: str) -> list[Assumption]:
    file.check_keys("application", table, {"name", "from_run", *APPLICATION_KEYS}, occurrence)
    found = dict(table)
    measured = _measured(file, occurrence, found) if "from_run" in table else {}
    result = []
    for key, kind in APPLICATION_KEYS.items():
        result.append(
            measured[key](f"{name}.{key}", kind)
            if key in measured
            else _assumption(file, "application", occurrence, found, key, f"{name}.{key}", kind)
        )
    r_d, r_c = result[0].value, result[1].value
    if r_c.high > r_d.nominal or r_c.nominal > r_d.low:
        found_text = f"is {result[1].show()}, above r_d, which is {result[0].show()}"
        raise InputError(Code.OUT_OF_RANGE, result[1].field, found_text, f"1 <= r_c <= r_d = {r_d.low:g}")
    return result


def _measured(
    file: TomlFile, occurrence: int, table: dict[str, object]
) -> dict[str, Callable[[str, Kind], Assumption]]:
    """Read `from_run`; return what makes the assumptions that it gives, by key."""
    field = file.field("application", "from_run", occurrence)
    arguments = table["from_run"]
    if not isinstance(arguments, list) or not all(isinstance(argument, str) for argument in arguments):
        raise InputError(
            Code.NOT_A_QUANTITY, field, f"is {arguments!r}", 'a list, as ["dram=DIR", "cxl=DIR"]'
        )
    if "r_c" in table:
        raise InputError(Code.CONFLICT, field, "given beside r_c", "one of r_c and from_run")
    runs = [run for argument in arguments for run in read_runs(_beside(file.path, argument))]
    typed = parse(_number(table["r_d"]), Dimension.RATIO, field) if "r_d" in table else None
    result = measure(runs, typed)
    provenance = Provenance(Origin.MEASURED, result.source, "this fleet's runs")

    def maker(value: Interval) -> Callable[[str, Kind], Assumption]:
        return lambda key, kind: Assumption(
            key, kind.meaning, kind.dimension, value, kind.valid, provenance, field
        )

    made = {"r_c": maker(result.r_c)}
    return made if typed is not None else made | {"r_d": maker(result.r_d)}


def _beside(path: Path, argument: str) -> str:
    """Take the folder of a `from_run` relative to the applications file."""
    tier, equals, folder = argument.rpartition("=")
    return f"{tier}{equals}{path.parent / folder}"


def _number(value: object) -> str | float:
    return value if isinstance(value, str | int | float) else str(value)


def _assumption(
    file: TomlFile, title: str, occurrence: int, table: dict[str, object], key: str, name: str, kind: Kind
) -> Assumption:
    field = file.field(title, key, occurrence)
    if key not in table:
        valid = kind.valid.describe(key, kind.dimension, "USD")
        raise InputError(Code.MISSING, field, "is not there", valid)
    value = parse(_number(table[key]), kind.dimension, field)
    provenance = Provenance(Origin.TYPED, field.rsplit(": ", 1)[0], "as typed")
    return Assumption(name, kind.meaning, kind.dimension, value, kind.valid, provenance, field)


def _choices(file: TomlFile, server: dict[str, object], key: str, valid: Range) -> tuple[GiB, ...]:
    field = file.field("server", key)
    texts = server.get(key)
    if not isinstance(texts, list) or not texts:
        raise InputError(
            Code.MISSING, field, f"is {texts!r}", 'a list of capacities, as ["256 GiB", "512 GiB"]'
        )
    amounts = set()
    for text in texts:
        amount = parse(_number(text), Dimension.CAPACITY, field)
        if not amount.is_exact or amount.nominal not in valid:
            described = valid.describe(key, Dimension.CAPACITY, "USD")
            raise InputError(Code.OUT_OF_RANGE, field, f"holds {text}", f"{described}, without an interval")
        amounts.add(GiB(amount.nominal))
    return tuple(sorted(amounts))


def _check_shares(path: Path, names: list[str], assumptions: dict[str, Assumption]) -> None:
    total = sum(assumptions[f"{name}.share"].value.nominal for name in names)
    if abs(total - 1) > 1e-6:
        found = f"shares add up to {100 * total:g} %"
        raise InputError(
            Code.CONFLICT, f"{path}: [[application]] share", found, "100 % over all applications"
        )
