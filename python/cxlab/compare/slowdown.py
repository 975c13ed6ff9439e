"""Compares a run with the first: the ratio of times, its interval, and shares that add up to the
difference.

::

    slowdown = time of the runs / time of the first ones       because: {part: share}    sum = slowdown - 1

An interval needs more than one run of each (seeds), or sampled runs. Runs with equal seeds are pairs. Source
of the interval of a ratio of means: W. Cochran, Sampling Techniques, 3rd ed., 6.4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cxlab import sampled, student
from cxlab.border import RunResult
from cxlab.compare.parts import Kind, Unloaded, kinds, parts

Key = TypeVar("Key")


@dataclass(frozen=True)
class Column:
    """A machine and a placement, and what became of the program there."""

    label: str
    machine: str
    placement: str
    #: one for each seed
    results: Sequence[RunResult]
    #: of the machine, by node and stage [ns]
    unloaded: Unloaded
    #: run in a guest, or replayed from another column's recording
    how: str = "run"
    #: of the first seed's run
    folder: Path | None = None


@dataclass(frozen=True)
class Interval:
    """The interval of a slowdown, and its confidence."""

    low: float
    high: float
    #: 0 to 1
    confidence: float


@dataclass(frozen=True)
class Slowdown:
    """A column against the first."""

    #: time over the first column's time
    times: float
    interval: Interval | None
    #: share of the first column's time by which each part is longer; the sum is `times - 1`
    because: Mapping[str, float]
    #: the same by kind; the sum is `times - 1` too
    kinds: Mapping[Kind, float]


def against(first: Column, column: Column) -> Slowdown:
    """Compare the column with the first."""
    times = _seconds(column) / _seconds(first)
    return Slowdown(
        times=times,
        interval=None if column is first else _interval(first, column),
        because=_longer(_parts(first), _parts(column)),
        kinds=_longer(_kinds(first), _kinds(column)),
    )


def _seconds(column: Column) -> float:
    return sum(result.simulated_seconds for result in column.results)


def _parts(column: Column) -> dict[str, float]:
    return _sum([parts(result) for result in column.results])


def _kinds(column: Column) -> dict[Kind, float]:
    return _sum([kinds(result, column.unloaded) for result in column.results])


def _sum(of: Sequence[Mapping[Key, float]]) -> dict[Key, float]:
    keys = dict.fromkeys(key for one in of for key in one)
    return {key: sum(one.get(key, 0.0) for one in of) for key in keys}


def _longer(first: Mapping[Key, float], other: Mapping[Key, float]) -> dict[Key, float]:
    """Growth of each part, as a share of all of the first."""
    whole = sum(first.values())
    keys = dict.fromkeys([*first, *other])
    return {key: (other.get(key, 0.0) - first.get(key, 0.0)) / whole for key in keys}


def _interval(first: Column, column: Column) -> Interval | None:
    pairs = list(zip(first.results, column.results, strict=True))
    if len(pairs) > 1:
        return _of_seeds([(one.simulated_seconds, other.simulated_seconds) for one, other in pairs])
    return _of_samples(*pairs[0])


def _of_seeds(pairs: Sequence[tuple[float, float]]) -> Interval:
    """Return the interval of the ratio of two means, by pairs."""
    count = len(pairs)
    before = sum(first for first, _ in pairs) / count
    ratio = sum(other for _, other in pairs) / count / before
    squares = sum((other - ratio * first) ** 2 for first, other in pairs)
    error = math.sqrt(squares / (count - 1) / count) / before
    reach = student.reach(count - 1) * error
    return Interval(ratio - reach, ratio + reach, student.CONFIDENCE)


def _of_samples(first: RunResult, other: RunResult) -> Interval | None:
    """Return the interval for sampled runs, or for one sampled and one exact. Errors of independent
    logarithms add as squares."""
    ends = [_logarithms(result) for result in (first, other)]
    if (first.sampling is None and other.sampling is None) or any(end is None for end in ends):
        return None
    (first_low, first_high), (low, high) = [end for end in ends if end is not None]
    ratio = other.simulated_seconds / first.simulated_seconds
    confidence = min(result.sampling.confidence for result in (first, other) if result.sampling is not None)
    down, up = math.hypot(low, first_high), math.hypot(high, first_low)
    return Interval(ratio * math.exp(-down), ratio * math.exp(up), confidence)


def _logarithms(result: RunResult) -> tuple[float, float] | None:
    """How far down and up the time may be, as logarithms of a ratio; None where too few windows were seen."""
    if result.sampling is None:
        return 0.0, 0.0
    interval = sampled.ends(result.sampling, "simulated_seconds")
    if interval is None or interval[0] <= 0:
        return None
    low, high = interval
    return math.log(result.simulated_seconds / low), math.log(high / result.simulated_seconds)
