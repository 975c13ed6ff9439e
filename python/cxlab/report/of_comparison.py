"""The report of a comparison: comparison.json in the folder of its columns' runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from cxlab.compare import parts
from cxlab.compare.report import COMPARISON
from cxlab.error import Code, InputError
from cxlab.report import causes, topology
from cxlab.report.page import Facts, Report
from cxlab.report.topology import Topology
from cxlab.run.errors import NoRun
from cxlab.run.results import configuration
from cxlab.run.results.configuration import Configuration


class _Node(Struct, frozen=True):
    """Figures of a memory; None if too few windows tell of one."""

    bandwidth_mb_s: float | None
    wait_in_core_ns: float | None
    memory_latency_ns: float | None


class _Column(Struct, frozen=True):
    """Fields that are read of a column."""

    label: str
    machine: str
    placement: str
    how: str
    simulated_seconds: Sequence[float]
    slowdown: float
    interval: tuple[float, float] | None
    confidence: float | None
    nodes: Mapping[str, _Node]
    folder: str | None
    because: Mapping[str, float]
    #: of sampled columns; null where too few windows tell of a part
    because_intervals: Mapping[str, tuple[float, float] | None] | None = None


class _Comparison(Struct, frozen=True):
    """Fields that are read of comparison.json."""

    sentences: Sequence[str]
    columns: Sequence[_Column]


def report(folder: Path) -> Report:
    """Read the folder.

    Raises:
        InputError: its comparison is of another CXLab, or damaged.

    """
    file = folder / COMPARISON
    try:
        comparison = msgspec.json.decode(file.read_bytes(), type=_Comparison)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        found = f"is damaged, or of another CXLab ({error})"
        raise InputError(Code.SWEEP, str(file), found, "what `cxlab compare` writes; run it again") from None
    columns = comparison.columns
    chart = causes.of_file(file)
    shown: list[Any] = [_columns(columns), *([] if chart is None else [chart])]
    sampled = [column for column in columns if column.because_intervals is not None]
    shown += [*([_intervals(sampled)] if sampled else []), _memory(columns)]
    configurations = [_configuration(folder, column) for column in columns]
    asked = [one for one in configurations if one is not None]
    shown += _topologies(asked)
    argv = asked[0].program.argv if asked else []
    told = " ".join(f"{sentence}." for sentence in comparison.sentences)
    return Report(f"CXLab comparison: {' '.join(argv)}", told, shown)


def _columns(columns: Sequence[_Column]) -> Facts:
    headings = ("column", "machine", "placement", "times the first", "interval", "how", "simulated time [ms]")
    rows = [
        (
            column.label,
            column.machine,
            column.placement,
            round(column.slowdown, 3),
            _interval(column),
            column.how,
            ", ".join(f"{1e3 * seconds:.4g}" for seconds in column.simulated_seconds),
        )
        for column in columns
    ]
    return Facts("Columns", headings, rows)


def _interval(column: _Column) -> str:
    if column.interval is None or column.confidence is None:
        return "none"
    low, high = column.interval
    return f"{low:.3f} to {high:.3f}, {column.confidence:.0%}"


def _intervals(columns: Sequence[_Column]) -> Facts:
    """How much longer each part of a sampled column is, in times of the first column."""
    rows = [
        (column.label, parts.label(part), *_ends(column.because[part], ends))
        for column in columns
        for part, ends in (column.because_intervals or {}).items()
    ]
    return Facts("Causes with their intervals", ("column", "part", "longer by", "interval"), rows)


def _ends(longer: float, ends: tuple[float, float] | None) -> tuple[str, str]:
    return (
        ("-", "too few windows") if ends is None else (f"{longer:+.3f}", f"{ends[0]:+.3f} to {ends[1]:+.3f}")
    )


def _memory(columns: Sequence[_Column]) -> Facts:
    rows = [
        (
            column.label,
            name,
            _told(of.bandwidth_mb_s, 1e-3),
            _told(of.wait_in_core_ns, 1.0),
            _told(of.memory_latency_ns, 1.0),
        )
        for column in columns
        for name, of in column.nodes.items()
    ]
    headings = ("column", "node", "bandwidth [GB/s]", "wait in the core [ns]")
    return Facts("Memory", (*headings, "memory latency of loads [ns]"), rows)


def _told(value: float | None, factor: float) -> str:
    return "-" if value is None else f"{value * factor:.4g}"


def _configuration(folder: Path, column: _Column) -> Configuration | None:
    """Return the configuration of a column's first run; None if its folder is gone."""
    if column.folder is None:
        return None
    try:
        return configuration.read(folder / Path(column.folder).name)
    except NoRun:
        return None


def _topologies(asked: Iterable[Configuration]) -> Iterator[Topology]:
    """A drawing of each machine."""
    machines = {msgspec.json.encode(one.machine): one.machine for one in asked}
    return (topology.of_machine(machine) for machine in machines.values())
