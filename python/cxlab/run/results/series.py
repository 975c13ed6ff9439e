"""Columns of a run's series over simulated time, by name: the one module that subscripts them.

A row is an interval of the run. Beside these columns, each node has some of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Series = Mapping[str, Sequence[float]]


def ends_s(series: Series) -> Sequence[float]:
    """Simulated time at the end of each interval [s]."""
    return series["time_s"]


def busy_ns(series: Series) -> Sequence[float]:
    """Busy time of all cores in each interval [ns]."""
    return series["busy_ns"]


def instructions(series: Series) -> Sequence[float]:
    """Committed instructions of each interval."""
    return series["instructions"]


def moved_bytes(series: Series, node: str) -> list[float]:
    """Bytes that a node read and wrote in each interval."""
    both = zip(series[f"{node}_read_bytes"], series[f"{node}_write_bytes"], strict=True)
    return [read + written for read, written in both]


def load_ns(series: Series, node: str) -> Sequence[float]:
    """Sum of the latencies of a node's loads in each interval [ns]."""
    return series[f"{node}_load_ns"]


def loads(series: Series, node: str) -> Sequence[float]:
    """Loads of a node in each interval."""
    return series[f"{node}_loads"]
