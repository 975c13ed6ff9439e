"""The file of a sweep: its axes and its workloads.

::

    [axes]
    machine = ["8468v-asic", "mine.toml"]        required
    placement = ["dram", "cxl", "dram=3,cxl=1"]  default: ["default"]
    workload = ["idle"]                          default: all of [workloads]
    seed = [1, 2, 3]                             default: [1]
    [axes.set]                                   each key is an axis of its own
    "nodes.cxl.device.root_port.response_fifo" = [52, 128]

    [workloads.idle]                             see cxlab.sweep.workload
    bench = "latency"

    [slurm]                                      only with --on slurm
    partition = "all"
    minutes = 60
    runs_per_task = 100
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cxlab import model
from cxlab.bench.request import SEED
from cxlab.error import Code, InputError
from cxlab.plan.toml_file import TomlFile
from cxlab.sweep import placement, workload
from cxlab.sweep.workload import SweepWorkload, WrongValue

AXES = ("machine", "placement", "workload", "seed", "set")
TABLES = ("axes", "workloads", "slurm")


@dataclass(frozen=True)
class SlurmSettings:
    """Settings of a task for Slurm."""

    partition: str | None = None
    #: after these minutes Slurm ends a task
    minutes: int = 60
    runs_per_task: int = 100


@dataclass(frozen=True)
class Sweep:
    """A sweep as its file has it."""

    file: TomlFile
    #: as asked for -> as the model is told: a name, or an absolute path
    machines: Mapping[str, str]
    #: key -> values
    settings: Mapping[str, Sequence[str]]
    placements: Sequence[str]
    workloads: Mapping[str, SweepWorkload]
    seeds: Sequence[int]
    slurm: SlurmSettings

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.file.path.stem


def read(path: Path) -> Sweep:
    """Read a sweep's file.

    Raises:
        InputError: an axis, key or value is unknown or wrong; the text names the file, the line and the key.

    """
    file = TomlFile.read(path)
    _check_keys(file, "", file.content, TABLES)
    axes = _table(file, "axes")
    _check_keys(file, "axes", axes, AXES)
    workloads = _workloads(file)
    chosen = _words(file, axes, "workload", list(workloads))
    for name in chosen:
        if name not in workloads:
            raise _wrong(file, "axes", "workload", f"there is no [workloads.{name}]", ", ".join(workloads))
    seeds = _values(file, axes, "seed", [SEED])
    for seed in seeds:
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise _wrong(file, "axes", "seed", f"`{seed}` is no seed", "whole numbers from 0")
    sweep = Sweep(
        file,
        {name: _machine(file, name) for name in _words(file, axes, "machine", [])},
        _settings(file, axes),
        [_placement(file, text) for text in _words(file, axes, "placement", [placement.DEFAULT])],
        {name: workloads[name] for name in chosen},
        seeds,
        _slurm(file),
    )
    if len(seeds) > 1:
        for name, one in sweep.workloads.items():
            if not one.seeded:
                found = f"{len(seeds)} seeds, but the workload {name} draws nothing at random"
                raise _wrong(file, "axes", "seed", found, "one seed, or benches alone")
    return sweep


def _wrong(file: TomlFile, table: str, key: str, found: str, valid: str) -> InputError:
    return InputError(Code.SWEEP, file.field(table, key).strip(), found, valid)


def _table(file: TomlFile, name: str) -> dict[str, Any]:
    table = file.content.get(name)
    if not isinstance(table, dict):
        raise InputError(Code.SWEEP, f"{file.path}: [{name}]", "is not there", f"a table [{name}]")
    return table


def _check_keys(file: TomlFile, table: str, found: Mapping[str, Any], valid: Sequence[str]) -> None:
    for key in found:
        if key not in valid:
            what = "unknown axis" if table == "axes" else "unknown key"
            # A table's line is where its header is.
            where = (key, "") if table == "" and isinstance(found[key], dict) else (table, key)
            raise _wrong(file, *where, what, ", ".join(valid))


def _values(file: TomlFile, axes: Mapping[str, Any], key: str, default: list[Any]) -> list[Any]:
    values = axes.get(key, default)
    if not isinstance(values, list) or not values:
        found = "is no list of values" if key in axes else "is not there"
        raise _wrong(file, "axes", key, found, "a list of one value at least")
    if len(set(map(str, values))) != len(values):
        raise _wrong(file, "axes", key, "has a value twice", "each value once")
    return values


def _words(file: TomlFile, axes: Mapping[str, Any], key: str, default: list[str]) -> list[str]:
    values = _values(file, axes, key, default)
    for value in values:
        if not isinstance(value, str):
            raise _wrong(file, "axes", key, f"`{value}` is no text", "a list of texts")
    return values


def _settings(file: TomlFile, axes: Mapping[str, Any]) -> dict[str, list[str]]:
    table = axes.get("set", {})
    if not isinstance(table, dict):
        raise _wrong(file, "axes", "set", "is no table", '[axes.set], then "KEY" = [VALUE, VALUE]')
    found = {}
    for key, values in table.items():
        if not isinstance(values, list) or not values or any(isinstance(one, list | dict) for one in values):
            raise _wrong(
                file, "axes.set", key, "is no list of values", f'"{key}" = [VALUE, VALUE], one at least'
            )
        found[key] = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
        if len(set(found[key])) != len(values):
            raise _wrong(file, "axes.set", key, "has a value twice", "each value once")
    return found


def _machine(file: TomlFile, name: str) -> str:
    beside = (file.path.parent / name).resolve()
    if name.endswith(".toml") and beside.is_file():
        return str(beside)
    if name not in model.machine_names():
        valid = ", ".join(model.machine_names())
        raise _wrong(file, "axes", "machine", f"there is no machine `{name}`", f"{valid}, or a .toml file")
    return name


def _placement(file: TomlFile, text: str) -> str:
    try:
        placement.parse(text)
    except InputError as error:
        raise _wrong(file, "axes", "placement", error.found, placement.VALID) from None
    return text


def _workloads(file: TomlFile) -> dict[str, SweepWorkload]:
    tables = _table(file, "workloads")
    if not tables:
        raise _wrong(file, "workloads", "", "is empty", "a table [workloads.NAME] for each workload")
    found = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise _wrong(file, "workloads", name, "is no table", f"[workloads.{name}]")
        try:
            found[name] = workload.parse(table, file.path.parent.resolve())
        except WrongValue as error:
            raise _wrong(file, f"workloads.{name}", error.key, error.found, error.valid) from None
    return found


def _slurm(file: TomlFile) -> SlurmSettings:
    table = file.content.get("slurm", {})
    if not isinstance(table, dict):
        raise _wrong(file, "", "slurm", "is no table", "a table [slurm]")
    _check_keys(file, "slurm", table, ("partition", "minutes", "runs_per_task"))
    for key in ("minutes", "runs_per_task"):
        value = table.get(key, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise _wrong(file, "slurm", key, f"`{value}`", "a whole number from 1")
    if not isinstance(table.get("partition", ""), str):
        raise _wrong(file, "slurm", "partition", f"`{table['partition']}`", "a partition's name")
    return SlurmSettings(**table)
