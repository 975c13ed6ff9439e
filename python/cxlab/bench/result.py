"""A result: what was asked and the points, as JSON and as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from cxlab import model
from cxlab.asked_machine import keys_of
from cxlab.bench import expander
from cxlab.bench.request import Workload
from cxlab.bench.sweep import SPREAD, Spread
from cxlab.border import BenchPoint
from cxlab.output import table


def counted(value: float | None) -> float:
    """A figure that the bench at hand always counts."""
    assert value is not None, "the bench counts no such figure"
    return value


@dataclass(frozen=True)
class Result:
    """A bench that has run: its points and, if one thing varies from point to point, its name and values."""

    bench: str
    workload: Workload
    points: Sequence[BenchPoint]
    #: what varies, as results call it, and its value at each point
    varied: tuple[str, Sequence[Any]] | None = None
    #: of each point over the seeds, by the names of its figures; empty where one seed was run
    spreads: Sequence[Mapping[str, Spread]] = ()

    @property
    def values(self) -> Sequence[Any]:
        """Values of what varies, one for each point."""
        return [None] * len(self.points) if self.varied is None else self.varied[1]

    def documents(self) -> list[dict[str, Any]]:
        """The points as ``--json`` writes them."""
        documents = [model.document(point) for point in self.points]
        if self.varied is not None:
            key, values = self.varied
            documents = [{**one, key: value} for one, value in zip(documents, values, strict=True)]
        if self.spreads:
            documents = [
                {**one, "spread": {name: asdict(spread) for name, spread in spreads.items()}}
                for one, spreads in zip(documents, self.spreads, strict=True)
            ]
        if self.bench == "embedding":
            misses = [{"l3_miss_latency_ns": l3_miss_latency_ns(point)} for point in self.points]
            documents = [one | miss for one, miss in zip(documents, misses, strict=True)]
        return documents

    @property
    def of_seed(self) -> str:
        """Words behind a figure of a point: with several seeds, a point is the first one's."""
        return " (seed 1)" if self.spreads else ""

    def document(self) -> dict[str, Any]:
        """As ``--json`` writes it; bandwidths in 10^6 B/s, latencies in ns, delays in core cycles."""
        placement = self.workload.placement
        return {
            "bench": self.bench,
            **keys_of(self.workload.machine),
            "node": str(placement),
            "placement": dict(placement.shares),
            **self.workload.settings(),
            "points": self.documents(),
        }


#: Stages of a load before the LLC has missed.
BEFORE_THE_MISS = ("translation", "fill_buffer", "to_home")


def l3_miss_latency_ns(point: BenchPoint) -> float:
    """Latency from the LLC's miss to the core [ns]."""
    return counted(point.latency_ns) - stages_ns(point, BEFORE_THE_MISS)


def stages_ns(point: BenchPoint, stages: Sequence[str]) -> float:
    """Mean time of a load in some of its stages."""
    return sum(point.stages_ns.get(stage, 0.0) for stage in stages)


def mlc_lines(result: Result) -> list[str]:
    """Intel MLC's three columns."""
    lines = ["Inject\tLatency\tBandwidth", "Delay\t(ns)\tMB/sec", "=========================="]
    for point in result.points:
        lines.append(
            f" {point.delay:05d}\t{point.latency_ns or 0:7.2f}\t{counted(point.bandwidth_mb_s):10.1f}"
        )
    return lines


def spread_table(result: Result, seeds: int) -> Table:
    """One row a point: mean, least and most over the seeds."""
    first = "delay" if result.varied is None else result.varied[0]
    shown = table((first, "latency [ns]", "[MB/s]"), title=f"mean over {seeds} seeds (least to most)")
    for value, point, spread in zip(result.values, result.points, result.spreads, strict=True):
        figures = (str(spread[name]) if name in spread else "-" for name in SPREAD)
        shown.add_row(str(point.delay if result.varied is None else value), *figures)
    return shown


def stages_table(result: Result) -> Table:
    """Make a table of a load's time by stage, in the order of its way: of the first point and seed."""
    stages = result.points[0].stages_ns
    shown = table(("stage", "mean"), title=f"where a load's time goes{result.of_seed}")
    for stage in (name for name, _, _ in model.stages() if name in stages):
        shown.add_row(stage, f"{stages[stage]:.1f} ns")
    total = sum(stages.values())
    shown.add_row("sum", f"{total:.1f} ns", style="bold")
    return shown


def embedding_table(result: Result) -> Table:
    """One row a number of threads: throughput, and where the loads waited (CXL-DMSim's table IV)."""
    headings = (
        "threads",
        "queries/s",
        "[MB/s]",
        "load to use [ns]",
        "L3 miss [ns]",
        "LSQ full",
        "root port [ns]",
    )
    shown = table(headings, title=_title(result), left=0)
    for threads, point in zip(result.values, result.points, strict=True):
        shown.add_row(
            str(threads),
            f"{counted(point.queries_per_second):.3g}",
            f"{counted(point.bandwidth_mb_s):.0f}",
            f"{counted(point.latency_ns):.0f}",
            f"{l3_miss_latency_ns(point):.0f}",
            str(point.lsq_full_events),
            f"{stages_ns(point, ['root_port_queue']):.0f}",
        )
    return shown


def cache_table(result: Result) -> Table:
    """One row a ratio of the buffers to the cache: loads, what the cache had, how long its pages took."""
    loads = ("mean [ns]", "p50 [ns]", "p99 [ns]", "p99.9 [ns]")
    cache = ("hits", "merged", "misses", "written back", "fetch [us]", "fetch p99 [us]")
    shown = table(("of cache", "[MB/s]", *loads, *cache), title=_title(result))
    for ratio, point in zip(result.values, result.points, strict=True):
        (node,) = point.nodes.values()
        caches = [found.device_cache for found in expander.of_point(point) if found.device_cache is not None]
        hits, merged = sum(one.hits for one in caches), sum(one.merged for one in caches)
        misses = sum(one.misses for one in caches)
        asked = max(1, hits + merged + misses)
        fetch = caches[0].fill_latency
        fetches: tuple[float | None, ...] = (None, None)
        if fetch is not None and fetch.count:
            fetches = (fetch.mean / 1e3, fetch.p99 / 1e3)
        quantiles = (node.p50_load_latency_ns, node.p99_load_latency_ns, node.p999_load_latency_ns)
        shown.add_row(
            f"{ratio:g}",
            f"{counted(point.bandwidth_mb_s):,.0f}",
            *("-" if time is None else f"{time:,.0f}" for time in (node.mean_load_latency_ns, *quantiles)),
            *(f"{count / asked:.2%}" for count in (hits, merged, misses)),
            f"{sum(one.write_backs for one in caches):,}",
            *("-" if time is None else f"{time:,.1f}" for time in fetches),
        )
    return shown


def points_table(result: Result) -> Table:
    """One row a point, what varies first: bandwidth, latency, row hits, links, queues."""
    assert result.varied is not None
    figures = ("latency [ns]", "[MB/s]", "read", "written", "row hits", "m2s", "s2m", "full", "retries")
    shown = table((result.varied[0], *figures), title=_title(result))
    for value, point in zip(result.values, result.points, strict=True):
        shown.add_row(
            str(value),
            "-" if point.latency_ns is None else f"{point.latency_ns:.1f}",
            f"{counted(point.bandwidth_mb_s):,.0f}",
            f"{counted(point.read_mb_s):,.0f}",
            f"{counted(point.write_mb_s):,.0f}",
            *_way(point),
        )
    return shown


def _title(result: Result) -> str:
    return f"{result.workload.machine}, {result.workload.placement}"


def _way(point: BenchPoint) -> tuple[str, str, str, str, str]:
    """Row hits, link utilisation by direction, full-queue events and retries over all ports of a point."""
    ports = [port for node in point.nodes.values() for port in node.ports]
    hits = [port.row_hit_share for port in ports if port.row_hit_share is not None]
    found = list(expander.of_point(point))

    def share(values: Iterable[float | None]) -> str:
        known = [value for value in values if value is not None]
        return f"{sum(known) / len(known):.0%}" if known else "-"

    full = sum(node.table_full_events for node in point.nodes.values())
    full += sum(
        one.root_port.full + one.device.read_queue_full + one.device.write_queue_full for one in found
    )
    retries = sum(one.m2s.retries + one.s2m.retries for one in found)
    return (
        share(hits),
        share(one.m2s.utilisation for one in found),
        share(one.s2m.utilisation for one in found),
        f"{full:,}",
        f"{retries:,}" if found else "-",
    )
