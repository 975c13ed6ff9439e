"""Single figures of papers beside the bench's: the rows of validation/points.toml.

A row names what to run as `cxlab bench` would, and which number of it is meant. With `over` it names a
second run. The figure is then the ratio of the first to the second, or their difference.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cxlab import model
from cxlab.bench.request import Mix, Placement, Workload
from cxlab.bench.result import counted
from cxlab.border import BenchJob, BenchPoint

UNITS = {
    "latency": "ns",
    "median_latency": "ns",
    "bandwidth": "GB/s",
    "efficiency": "%",
    "write_efficiency": "%",
    "best_read_share": "% read",
}


@dataclass(frozen=True)
class Figure:
    """A row of validation/points.toml."""

    id: str
    what: str
    source: str
    role: str
    low: float
    high: float
    unit: str
    settings: Mapping[str, Any]

    @property
    def machine(self) -> str:
        """The machine of the first run."""
        return str(self.settings["machine"])

    def jobs(self) -> list[BenchJob]:
        """One job; two where it is over another; one for each of `mixes`."""
        have = self.settings
        if "mixes" in have:
            return [_job({**have, "mix": mix}) for mix in have["mixes"]]
        other = have.get("over")
        return [_job(have)] if other is None else [_job(have), _job({"machine": self.machine, **other})]

    def simulated(self, points: Sequence[BenchPoint]) -> float:
        """The figure from its points."""
        have = self.settings
        if "mixes" in have:
            bandwidths = [counted(point.bandwidth_mb_s) for point in points]
            best = bandwidths.index(max(bandwidths))
            return 100 * Mix.parse(have["mixes"][best]).read_share
        values = [self._value(point) for point in points]
        if len(values) == 1:
            return values[0]
        return values[0] / values[1] if have["how"] == "ratio" else values[0] - values[1]

    def _value(self, point: BenchPoint) -> float:
        match self.settings["metric"]:
            case "latency":
                return counted(point.latency_ns)
            case "median_latency":
                return counted(point.nodes[self.settings["node"]].p50_load_latency_ns)
            case "bandwidth":
                return counted(point.bandwidth_mb_s) / 1e3
            case "write_efficiency":
                return counted(point.write_mb_s) / 10 / float(self.settings["peak_gb_s"])
            case _:
                return counted(point.bandwidth_mb_s) / 10 / float(self.settings["peak_gb_s"])

    def error(self, simulated: float) -> float:
        """Relative; 0 inside the range."""
        nearest = min(max(simulated, self.low), self.high)
        return simulated / nearest - 1


def _job(have: Mapping[str, Any]) -> BenchJob:
    """A run: `memo`, `size` (a walk) or `stream` where the row says so, else a loaded latency."""
    node, memo = have["node"], have.get("memo")
    placement = Placement.parse(None, None, node) if "=" in node else Placement.parse(node, None, None)
    threads = 0 if memo or "size" in have else have.get("threads", 16)
    mix, store = Mix.parse(have.get("mix", "1:0")), have.get("store", "ordinary")
    chase = have.get("chase", "blocks")
    of_cache = have.get("of_cache")
    latency_thread = have.get("latency_thread", True)
    workload = Workload(
        have["machine"],
        placement,
        threads,
        mix,
        store,
        latency_thread=latency_thread,
        prefetch=have.get("prefetch"),
        chase=chase,
        of_cache=of_cache,
    )
    if memo:
        return workload.job_of({"memo": {"instruction": memo}})
    if "size" in have:
        return workload.job_of({"walk": {"size": have["size"]}})
    if "stream" in have:
        return workload.job_of({"stream": {"kernel": have["stream"]}})
    return workload.job(have.get("delay", 0))


def shipped() -> list[Figure]:
    """The figures that come with CXLab."""
    return [_figure(row) for row in tomllib.loads(model.validation_figures())["points"]]


def _figure(row: dict[str, Any]) -> Figure:
    how = row.get("how")
    unit = "x" if how == "ratio" else "points" if how == "difference" else UNITS[row["metric"]]
    low, high = (float(row[key if key in row else "value"]) for key in ("low", "high"))
    named = {key: row[key] for key in ("id", "what", "source", "role")}
    return Figure(**named, low=low, high=high, unit=unit, settings=row)
