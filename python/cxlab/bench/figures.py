"""Single figures of papers beside the bench's: the rows of validation/points.toml.

A row names what to run as `cxlab bench` would, and which number of it is meant. With `over` it names a
second run. The figure is then the ratio of the first to the second, or their difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from cxlab import model
from cxlab.bench.request import Mix, Placement, Workload
from cxlab.bench.result import counted
from cxlab.border import BenchJob, BenchPoint, ChaseOrder, Instruction, Store, StreamKernel

Metric: TypeAlias = Literal[
    "latency", "median_latency", "bandwidth", "efficiency", "write_efficiency", "best_read_share"
]
UNITS: dict[Metric, str] = {
    "latency": "ns",
    "median_latency": "ns",
    "bandwidth": "GB/s",
    "efficiency": "%",
    "write_efficiency": "%",
    "best_read_share": "% read",
}


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a run: `memo`, `size` (a walk) or `stream` if the row says so, else a loaded latency."""

    #: a node, or nodes with weights
    node: str
    memo: Instruction | None = None
    size: str | None = None
    stream: StreamKernel | None = None
    threads: int = 16
    mix: str = "1:0"
    store: Store = "ordinary"
    delay: int = 0
    chase: ChaseOrder = "blocks"
    latency_thread: bool = True
    #: None: as the host file says
    prefetch: bool | None = None
    #: bytes of all buffers over those of the device's cache
    of_cache: float | None = None


class PointRow(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row as validation/points.toml has it."""

    id: str
    what: str
    source: str
    role: str
    machine: str
    metric: Metric
    #: in the place of `low` and `high`
    value: float | None = None
    low: float | None = None
    high: float | None = None
    #: of both directions of the memory [GB/s]
    peak_gb_s: float | None = None
    #: a run for each
    mixes: tuple[str, ...] = ()
    #: the second run, on the same machine
    over: Settings | None = None
    how: Literal["ratio", "difference"] | None = None

    @property
    def plain(self) -> bool:
        """Whether it is one run of load threads."""
        kernel = self.memo is not None or self.stream is not None or self.size is not None
        return not kernel and self.over is None and not self.mixes


class _Points(Struct, frozen=True, forbid_unknown_fields=True):
    """All of validation/points.toml."""

    points: list[PointRow]


@dataclass(frozen=True)
class Figure:
    """A figure of silicon, and how it is simulated."""

    id: str
    what: str
    source: str
    role: str
    low: float
    high: float
    unit: str
    settings: PointRow

    @property
    def machine(self) -> str:
        """The machine of the first run."""
        return self.settings.machine

    def jobs(self) -> list[BenchJob]:
        """One job; two where it is over another; one for each of `mixes`."""
        have = self.settings
        if have.mixes:
            return [_job(self.machine, replace(have, mix=mix)) for mix in have.mixes]
        runs = [have] if have.over is None else [have, have.over]
        return [_job(self.machine, run) for run in runs]

    def simulated(self, points: Sequence[BenchPoint]) -> float:
        """The figure from its points."""
        have = self.settings
        if have.mixes:
            bandwidths = [counted(point.bandwidth_mb_s) for point in points]
            best = bandwidths.index(max(bandwidths))
            return 100 * Mix.parse(have.mixes[best]).read_share
        values = [self._value(point) for point in points]
        if len(values) == 1:
            return values[0]
        return values[0] / values[1] if have.how == "ratio" else values[0] - values[1]

    def _value(self, point: BenchPoint) -> float:
        match self.settings.metric:
            case "latency":
                return counted(point.latency_ns)
            case "median_latency":
                return counted(point.nodes[self.settings.node].p50_load_latency_ns)
            case "bandwidth":
                return counted(point.bandwidth_mb_s) / 1e3
            case "write_efficiency":
                return counted(point.write_mb_s) / 10 / peak_gb_s(self.settings)
            case _:
                return counted(point.bandwidth_mb_s) / 10 / peak_gb_s(self.settings)

    def error(self, simulated: float) -> float:
        """Relative; 0 inside the range."""
        nearest = min(max(simulated, self.low), self.high)
        return simulated / nearest - 1


def peak_gb_s(row: PointRow) -> float:
    """Peak of the memory, for a row that is an efficiency [GB/s]."""
    assert row.peak_gb_s is not None, f"{row.id} has no peak_gb_s"
    return row.peak_gb_s


def _job(machine: str, have: Settings) -> BenchJob:
    """The model's job of a run."""
    node = have.node
    placement = Placement.parse(None, None, node) if "=" in node else Placement.parse(node, None, None)
    workload = Workload(
        machine,
        placement,
        0 if have.memo is not None or have.size is not None else have.threads,
        Mix.parse(have.mix),
        have.store,
        latency_thread=have.latency_thread,
        prefetch=have.prefetch,
        chase=have.chase,
        of_cache=have.of_cache,
    )
    if have.memo is not None:
        return workload.job_of({"memo": {"instruction": have.memo}})
    if have.size is not None:
        return workload.job_of({"walk": {"size": have.size}})
    if have.stream is not None:
        return workload.job_of({"stream": {"kernel": have.stream}})
    return workload.job(have.delay)


def shipped() -> list[Figure]:
    """The figures that come with CXLab."""
    return [_figure(row) for row in msgspec.toml.decode(model.validation_figures(), type=_Points).points]


def _figure(row: PointRow) -> Figure:
    unit = "x" if row.how == "ratio" else "points" if row.how == "difference" else UNITS[row.metric]
    low, high = (row.value if end is None else end for end in (row.low, row.high))
    assert low is not None and high is not None, f"{row.id} has neither value nor low and high"
    return Figure(row.id, row.what, row.source, row.role, low, high, unit, row)
