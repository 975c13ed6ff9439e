"""The report of a sweep: its axes, its runs, what placements cost, and its curves beside silicon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from cxlab import model
from cxlab.bench import figures
from cxlab.report import causes, topology
from cxlab.report.chart import Axis, Chart, Series, lines, stacks
from cxlab.report.page import Facts, Report
from cxlab.sweep import query
from cxlab.sweep.folder import PlannedRun, manifest

#: What names a configuration on the page.
NAME = "concat_ws(', ', workload, machine, nullif(array_to_string(map_values(settings), ' '), ''), placement)"
#: Statistics of which the runs' table shows those that there are.
SHOWN = ("simulated_seconds", "ipc", "latency_ns", "bandwidth_mb_s", "queries_per_second")


def report(folder: Path) -> Report:
    """Ask the sweep's rows."""
    planned = manifest(folder)
    finished = sum(len(files) for files in query.finished(folder).values())
    found: list[Any] = [
        _axes(planned.runs),
        _runs(folder),
        *causes.in_folder(folder),
        *_slowdowns(folder),
        *_stages(folder),
        *_curves(folder),
        *(topology.of_machine(machine) for machine in planned.machines.values()),
    ]
    summary = f"{finished} of {len(planned.runs)} runs are finished."
    return Report(f"CXLab sweep: {planned.sweep}", summary, found)


class TimeRow(Struct, frozen=True):
    """Mean simulated time of a placement."""

    machine: str
    #: settings that differ from the machine's file
    changed: list[str]
    workload: str
    placement: str
    seconds: float


class StageRow(Struct, frozen=True):
    """Mean time of a load in one stage."""

    configuration: str
    stage: str
    ns: float


class CurveRow(Struct, frozen=True):
    """A point of latency over bandwidth."""

    configuration: str
    machine: str
    placement: str
    gb_s: float
    ns: float


RowT = TypeVar("RowT", TimeRow, StageRow, CurveRow)


def _ask(folder: Path, question: str, row: type[RowT]) -> list[RowT]:
    """Ask the sweep's rows, one object a row. A column has the name of its field."""
    answer = query.ask(question, folder)
    named = [dict(zip(answer.headings, values, strict=True)) for values in answer.rows]
    return msgspec.convert(named, type=list[row])  # type: ignore[valid-type]


def _axes(runs: Sequence[PlannedRun]) -> Facts:
    values: dict[str, dict[str, None]] = {}
    for run in runs:
        axes = {
            "machine": run.machine,
            "placement": run.placement,
            "workload": run.workload,
            "seed": run.seed,
        }
        for axis, value in (axes | run.settings).items():
            values.setdefault(axis, {})[str(value)] = None
    return Facts("Configuration", ("axis", "values"), [(axis, ", ".join(of)) for axis, of in values.items()])


def _runs(folder: Path) -> Facts:
    there = {name for (name,) in query.ask("SELECT column_name FROM (DESCRIBE runs)", folder).rows}
    shown = [name for name in SHOWN if name in there]
    means = "".join(f", avg({name}) AS {name}" for name in shown)
    rows = query.ask(
        f"SELECT * FROM (SELECT {NAME} AS configuration, point, count(*) AS seeds{means} FROM runs "
        "GROUP BY ALL) ORDER BY configuration, try_cast(point AS DOUBLE), point",
        folder,
    ).rows
    headings = ("configuration", "point", "runs", *shown)
    return Facts("Runs: means over seeds", headings, [tuple(row) for row in rows])


def _slowdowns(folder: Path) -> Iterator[Chart]:
    """Simulated time over that of the configuration's first placement, where runs have a time."""
    rows = _ask(
        folder,
        "SELECT machine, map_values(settings) AS changed, workload, placement, avg(value) AS seconds "
        "FROM statistics WHERE statistic = 'simulated_seconds' GROUP BY ALL ORDER BY ALL",
        TimeRow,
    )
    groups: dict[str, dict[str, float]] = {}
    for row in rows:
        name = ", ".join([row.workload, row.machine, *row.changed])
        groups.setdefault(name, {})[row.placement] = row.seconds
    slower = {
        f"{name}, {placed}": seconds / min(of.values())
        for name, of in groups.items()
        if len(of) > 1
        for placed, seconds in of.items()
    }
    if slower:
        worst = max(slower, key=slower.__getitem__)
        alt = f"Time of each placement over the fastest one's: {worst} is {slower[worst]:.2f} times."
        columns = {name: {"time": times} for name, times in slower.items()}
        yield stacks("Slowdown by placement", alt, Axis("times the fastest placement"), columns)


def _stages(folder: Path) -> Iterator[Chart]:
    rows = _ask(
        folder,
        f"SELECT {NAME} AS configuration, replace(statistic, 'stages_ns.', '') AS stage, avg(value) AS ns "
        "FROM statistics WHERE statistic LIKE 'stages_ns.%' AND point = '' GROUP BY ALL ORDER BY ALL",
        StageRow,
    )
    columns: dict[str, dict[str, float]] = {}
    way = [name for name, _, _ in model.stages()]
    for row in sorted(rows, key=lambda row: way.index(row.stage)):
        columns.setdefault(row.configuration, {})[row.stage] = row.ns
    if columns:
        slowest = max(columns, key=lambda name: sum(columns[name].values()))
        alt = (
            f"Mean time of a load by stage, a stack a configuration; the longest is {slowest} with "
            f"{sum(columns[slowest].values()):.4g} ns."
        )
        yield stacks("Where a load's time goes", alt, Axis("mean time [ns]"), columns)


def _curves(folder: Path) -> Iterator[Chart]:
    rows = _ask(
        folder,
        f"SELECT {NAME} AS configuration, machine, placement, point, "
        "avg(value) FILTER (statistic = 'bandwidth_mb_s') / 1e3 AS gb_s, "
        "avg(value) FILTER (statistic = 'latency_ns') AS ns FROM statistics "
        "WHERE try_cast(point AS INTEGER) IS NOT NULL GROUP BY ALL "
        "HAVING gb_s IS NOT NULL AND ns IS NOT NULL ORDER BY configuration, gb_s",
        CurveRow,
    )
    curves: dict[str, list[tuple[float, float]]] = {}
    places = {(row.machine, row.placement) for row in rows}
    for row in rows:
        curves.setdefault(row.configuration, []).append((row.gb_s, row.ns))
    if not curves:
        return
    silicon = [one for machine, placed in sorted(places) for one in _silicon(machine, placed)]
    idle = {name: min(ns for _, ns in points) for name, points in curves.items()}
    told = ", ".join(f"{name} from {ns:.4g} ns" for name, ns in idle.items())
    beside = (
        f" Beside {len(silicon)} figures of silicon: idle latencies and peaks, on the axes."
        if silicon
        else " No figure of silicon is known."
    )
    alt = f"Latency over bandwidth: {told}.{beside}"
    series = [*(Series(name, points) for name, points in curves.items()), *silicon]
    yield lines("Loaded latency", alt, Axis("bandwidth [GB/s]"), Axis("latency [ns]"), series)


def _silicon(machine: str, placed: str) -> Iterator[Series]:
    """Return silicon's idle latency and peak of this machine and node for reads, from
    validation/points.toml."""
    for row in figures.shipped():
        have = row.settings
        if row.machine != machine or have.node != placed or not have.plain or have.mix != "1:0":
            continue
        middle = (row.low + row.high) / 2
        if have.metric == "latency":
            yield Series(f"silicon: {row.what} ({row.id})", [(0.0, middle)], silicon=True)
        elif have.metric == "bandwidth":
            yield Series(f"silicon: {row.what} ({row.id})", [(middle, 0.0)], silicon=True)
