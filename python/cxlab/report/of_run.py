"""The report of one run: its folder's config.json, summary.json, statistics.json and series.parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cxlab.border import NodeSummary, Part, RunResult, Sampling, StatisticDistribution
from cxlab.compare.load_latency import MEMORY_LATENCY, WAIT_IN_CORE, memory_latency_ns, wait_in_core_ns
from cxlab.report import causes, topology
from cxlab.report.chart import Axis, Cell, Chart, Series, lines, stacks
from cxlab.report.page import Facts, Report
from cxlab.run.results import configuration, finished
from cxlab.run.results.configuration import Configuration
from cxlab.run.results.plot import lengths
from cxlab.run.results.series import ends_s
from cxlab.sampled import Term, told

#: A series' name in series.parquet ends so [bytes].
READ, WRITTEN = "_read_bytes", "_write_bytes"


def report(folder: Path) -> Report:
    """Read the folder of a finished run.

    Raises:
        NoRun: the folder has no finished run, or one of another version of CXLab.

    """
    asked = configuration.read(folder)
    run = finished.read(folder)
    parts: list[Any] = [_asked(asked), *causes.in_folder(folder)]
    if run.result is not None and run.result.nodes:
        parts += [_memory(run.result.nodes, run.result.sampling), _stages(run.result.nodes)]
    statistics = run.statistics()
    if statistics is not None:
        parts.append(_distributions(statistics))
    if (folder / "series.parquet").exists():
        parts.append(_bandwidth(folder / "series.parquet"))
    parts.append(topology.of_machine(asked.machine))
    took = "was not timed" if run.result is None else f"took {_time(run.result)} of simulated time"
    where = f"{asked.machine.name}, {asked.placement}"
    return Report(f"CXLab run: {' '.join(run.program)}", f"The program {took} on {where}.", parts)


def _asked(asked: Configuration) -> Facts:
    machine = asked.machine
    rows: list[tuple[str, str]] = [
        ("program", " ".join(asked.program.argv)),
        ("machine", f"{machine.name}: {machine.description}"),
        ("settings", ", ".join(machine.set) or "none"),
        ("placement", asked.placement),
        ("vCPUs", str(asked.cpus)),
        *((f"memory of {n}", f"{size / 2**20:,.0f} MiB") for n, size in asked.memory_bytes.items()),
        *((f"version of {name}", str(version)) for name, version in asked.versions.items()),
    ]
    return Facts("Configuration", ("what", "value"), rows)


def _time(result: RunResult) -> str:
    terms, value = [Term("simulated_seconds", 1e3)], 1e3 * result.simulated_seconds
    return told(result.sampling, terms, value, lambda ms: f"{ms:.4g} ms")


def _memory(nodes: Mapping[str, NodeSummary], sampling: Sampling | None) -> Facts:
    def cell(name: str, terms: Sequence[Term], value: float | None) -> Cell:
        """Return a figure's cell. In a sampled run it has an interval."""
        if value is None or sampling is None:
            return None if value is None else float(f"{value:.4g}")
        of_node = [Term(f"nodes.{name}.{term.path}", term.factor) for term in terms]
        return told(sampling, of_node, value, "{:.4g}".format)

    rows = [
        (
            name,
            of.loads if sampling is None else cell(name, [Term("loads")], of.loads),
            cell(name, [Term("bandwidth_mb_s", 1e-3)], of.bandwidth_mb_s / 1e3),
            cell(name, WAIT_IN_CORE, wait_in_core_ns(of)),
            cell(name, MEMORY_LATENCY, memory_latency_ns(of)),
        )
        for name, of in nodes.items()
    ]
    headings = ("node", "lines read for loads", "bandwidth [GB/s]", "wait in the core [ns]")
    return Facts("Memory", (*headings, "memory latency of loads [ns]"), rows)


def _stages(nodes: Mapping[str, NodeSummary]) -> Chart:
    columns = {name: of.stages_ns for name, of in nodes.items()}
    longest = {name: max(of, key=of.__getitem__) for name, of in columns.items() if of}
    told = ", ".join(f"on {name} most in {stage}" for name, stage in longest.items())
    alt = f"Mean time of a load by stage, a stack a node: {told}."
    return stacks("Where a load's time goes", alt, Axis("mean time [ns]"), columns)


def _distributions(tree: Part) -> Chart:
    found = {path: of for path, of in _latencies(tree, "") if of.count}
    series = [
        Series(path, [(of.min, 0.0), (of.p50, 50.0), (of.p99, 99.0), (of.max, 100.0)])
        for path, of in found.items()
    ]
    slowest = max(found, key=lambda path: found[path].p99, default="none")
    alt = (
        "Latencies by the share of accesses that take no longer: least, median, 99th percentile, most. "
        f"The longest 99th percentile is that of {slowest}."
    )
    x, y = Axis("latency [ns]", logarithmic=True), Axis("accesses no slower [%]")
    return lines("Latency distributions", alt, x, y, series)


def _latencies(part: Part, path: str) -> Iterator[tuple[str, StatisticDistribution]]:
    """Every distribution [ns] by its path."""
    for statistic in part.statistics:
        if isinstance(statistic.value, StatisticDistribution) and statistic.unit == "nanoseconds":
            yield f"{path}{statistic.name}", statistic.value
    for inner in part.parts:
        yield from _latencies(inner, f"{path}{inner.name}.")


def _bandwidth(path: Path) -> Chart:
    """A row of the series is an interval: when it ends, and what was moved in it."""
    from pyarrow import parquet

    rows = parquet.read_table(path).to_pydict()
    times = ends_s(rows)
    spans = lengths(times)
    series = []
    for name, values in rows.items():
        for ending, what in ((READ, "read"), (WRITTEN, "written")):
            if name.endswith(ending):
                points = [
                    (1e3 * time, count / span / 1e9)
                    for time, count, span in zip(times, values, spans, strict=True)
                    if span > 0
                ]
                series.append(Series(f"{name.removesuffix(ending)}, {what}", points))
    peak = max((y for one in series for _, y in one.points), default=0.0)
    alt = f"Bandwidth of each node over simulated time; the highest is {peak:.3g} GB/s."
    return lines("Bandwidth over time", alt, Axis("simulated time [ms]"), Axis("bandwidth [GB/s]"), series)
