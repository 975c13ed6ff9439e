"""Observations are the numbers of a series that a simulation can be compared with.

    latency
      |              x  x     latency at full load: judged, never fitted
      |           .  x
      |      x  .|
      |  x x     | knee: 85 % of the curve's own peak
      +---------------------- bandwidth   its peak: fitted

A point up to the knee is simulated at the inject delay that gives its bandwidth. Load threads move 256 B,
and the write-backs of ordinary stores, in each delay (crates/model/src/bench/kernels.rs). What was measured
beyond the knee is passed over.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cxlab.bench.curves import KNEE
from cxlab.bench.request import Workload
from cxlab.bench.result import counted
from cxlab.border import BenchJob, BenchPoint
from cxlab.calibrate.measured import Kind, MeasuredPoint, Series
from cxlab.error import Code, InputError

#: Bytes of four accesses, between two delays.
BURST_BYTES = 256
LINE_BYTES = 64
#: Idle: below this, one burst in a millisecond.
LONGEST_DELAY = 1_000_000


class Quantity(enum.Enum):
    """A key of a simulated point."""

    LATENCY = "latency_ns"
    BANDWIDTH = "bandwidth_mb_s"


class Role(enum.Enum):
    """The purpose of an observation."""

    FIT = "fit"
    HELD_OUT = "held out"
    #: latency at full load, no function of bandwidth
    FULL_LOAD = "full load"


@dataclass(frozen=True)
class Observation:
    """A measured number, and the job that simulates it."""

    series: Series
    quantity: Quantity
    #: [ns] or [MB/s]
    value: float
    #: the bandwidth at which a latency was measured [MB/s]
    bandwidth: float | None
    #: a bench job without its machine
    job: BenchJob
    role: Role = Role.FIT

    def simulated(self, point: BenchPoint) -> float:
        """Return this number of a simulated point."""
        return counted(point.latency_ns if self.quantity is Quantity.LATENCY else point.bandwidth_mb_s)

    def residual(self, point: BenchPoint) -> float:
        """Residual of a simulated value: ln(simulated / measured)."""
        return math.log(self.simulated(point) / self.value)


def observations(series: Sequence[Series], frequency_ghz: float) -> list[Observation]:
    """Return what can be compared, idle first and the peak last in each series.

    Args:
        series: what was measured.
        frequency_ghz: of the simulated cores, whose cycles a delay counts.

    Raises:
        InputError: there is nothing.

    """
    found = [observation for one in series for observation in _of(one, frequency_ghz)]
    if not found:
        raise InputError(Code.NOT_MEASURED, "--measured", "no latency or bandwidth", "one point or more")
    return found


def _of(series: Series, frequency_ghz: float) -> list[Observation]:
    load = series.workload
    match series.kind:
        case Kind.LOADED_LATENCY:
            return _curve(series, frequency_ghz)
        case Kind.LATENCY:
            return _each(series, Quantity.LATENCY, lambda _: load.job(0))
        case Kind.BANDWIDTH:
            return _each(series, Quantity.BANDWIDTH, lambda _: load.job(0))
        case Kind.STREAM:
            return _each(series, Quantity.BANDWIDTH, lambda p: load.job_of({"stream": {"kernel": p.kernel}}))
        case Kind.MEMO:
            return _each(
                series, Quantity.LATENCY, lambda p: load.job_of({"memo": {"instruction": p.instruction}})
            )


def _each(series: Series, quantity: Quantity, job: Callable[[MeasuredPoint], BenchJob]) -> list[Observation]:
    """An observation for each point that has the quantity."""
    values = ((p, p.latency if quantity is Quantity.LATENCY else p.bandwidth) for p in series.points)
    return [Observation(series, quantity, value, None, job(p)) for p, value in values if value]


def _curve(series: Series, frequency_ghz: float) -> list[Observation]:
    points = [(p.bandwidth, p.latency, p) for p in series.points if p.bandwidth and p.latency]
    if not points:
        return []
    full = next((p for _, _, p in points if p.delay == 0), None)
    peak = max(bandwidth for bandwidth, _, _ in points)
    below = sorted((b, latency) for b, latency, _ in points if full is None or b <= KNEE * peak)
    load = series.workload
    found = [
        Observation(series, Quantity.LATENCY, latency, b, load.job(_delay(load, b, latency, frequency_ghz)))
        for b, latency in below
    ]
    return found + (_full_load(series, full, peak) if full else [])


def _full_load(series: Series, full: MeasuredPoint, peak: float) -> list[Observation]:
    job = series.workload.job(0)
    assert full.latency is not None
    return [
        Observation(series, Quantity.BANDWIDTH, peak, None, job),
        Observation(series, Quantity.LATENCY, full.latency, full.bandwidth, job, Role.FULL_LOAD),
    ]


def _delay(load: Workload, bandwidth: float, latency: float, frequency_ghz: float) -> int:
    """The inject delay [core cycles] at which all threads move ``bandwidth`` [MB/s]."""
    mix = load.mix
    lines_per_access = (mix.reads + mix.writes) / max(mix.reads, 1) if load.store == "ordinary" else 1.0
    chase = LINE_BYTES / latency if load.latency_thread else 0.0
    traffic = bandwidth / 1e3 - chase
    longest = LONGEST_DELAY
    if traffic <= 0:
        return longest
    return min(longest, round(load.threads * BURST_BYTES * lines_per_access / traffic * frequency_ghz))
