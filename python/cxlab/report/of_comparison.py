"""The report of a comparison: comparison.json in the folder of its columns' runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from cxlab import model
from cxlab.compare.report import COMPARISON
from cxlab.error import Code, InputError
from cxlab.report import causes, topology
from cxlab.report.page import Facts, Report
from cxlab.report.topology import Topology


class _Node(Struct, frozen=True):
    """What a memory did; None where too few windows tell of it."""

    bandwidth_mb_s: float | None
    load_latency_ns: float | None


class _Column(Struct, frozen=True):
    """What is read of a column."""

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


class _Comparison(Struct, frozen=True):
    """What is read of comparison.json."""

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
    shown: list[Any] = [_columns(columns), *([] if chart is None else [chart]), _memory(columns)]
    configurations = [_configuration(folder, column) for column in columns]
    shown += _topologies(found for found in configurations if found is not None)
    argv: list[str] = next((found["program"]["argv"] for found in configurations if found is not None), [])
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


def _memory(columns: Sequence[_Column]) -> Facts:
    rows = [
        (column.label, name, _told(of.bandwidth_mb_s, 1e-3), _told(of.load_latency_ns, 1.0))
        for column in columns
        for name, of in column.nodes.items()
    ]
    return Facts("Memory", ("column", "node", "bandwidth [GB/s]", "load to use [ns]"), rows)


def _told(value: float | None, factor: float) -> str:
    return "-" if value is None else f"{value * factor:.4g}"


def _configuration(folder: Path, column: _Column) -> dict[str, Any] | None:
    """The config.json of a column's first run; None if its folder is not there any more."""
    if column.folder is None:
        return None
    try:
        found: dict[str, Any] = json.loads((folder / Path(column.folder).name / "config.json").read_bytes())
    except (OSError, ValueError):
        return None
    return found


def _topologies(configurations: Iterator[dict[str, Any]]) -> Iterator[Topology]:
    """A drawing of each machine."""
    machines = {json.dumps(of["machine"], sort_keys=True): of["machine"] for of in configurations}
    return (topology.of_machine(model.machine_figures(machine)) for machine in machines.values())
