"""Intervals of the parts of sampled columns. If too few windows tell of a part, it has none.

::

    one run a column:    its share of its own time, from the windows, times the column's slowdown
    several seeds:       the scatter of the runs

Ends are as wide as if share and slowdown, or both columns, erred in the worst way together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from cxlab import student
from cxlab.border import RunResult
from cxlab.compare.parts import parts
from cxlab.compare.slowdown import Column, against
from cxlab.sampled import Term, interval

Ends = tuple[float, float]


def is_sampled(column: Column) -> bool:
    """Whether windows stand for a run of the column."""
    return any(result.sampling is not None for result in column.results)


def ends(first: Column, column: Column, part: str) -> Ends | None:
    """Return a part's interval as a share of the first column's time; None: too few windows tell of it."""
    if len(column.results) > 1:
        return _of_seeds(first, column, part)
    share = _share(column.results[0], part)
    if share is None:
        return None
    if column is first:
        return share
    slowdown = against(first, column)
    if slowdown.interval is None:
        return None
    return share[0] * slowdown.interval.low, share[1] * slowdown.interval.high


def longer(first: Column, column: Column, part: str) -> Ends | None:
    """Interval of how much longer a part is than in the first column, as a share of that column's time."""
    before, now = ends(first, first, part), ends(first, column, part)
    return None if before is None or now is None else (now[0] - before[1], now[1] - before[0])


def _share(result: RunResult, part: str) -> Ends | None:
    """Return a part's share of the run's own time."""
    found = parts(result)
    if result.sampling is None:
        exact = found.get(part, 0.0) / sum(found.values())
        return exact, exact
    place = f"nodes.{part}" if "." in part else part
    if part not in found:
        return 0.0, 0.0
    return interval(result.sampling, [Term(f"where_it_went.{place}")])


def _of_seeds(first: Column, column: Column, part: str) -> Ends:
    """Interval of a part's share by Student's t over the runs."""
    whole = sum(result.simulated_seconds for result in first.results) / len(first.results)
    shares = _shares(column.results, part, whole)
    count, mean = len(shares), sum(shares) / len(shares)
    error = math.sqrt(sum((share - mean) ** 2 for share in shares) / (count - 1) / count)
    reach = student.reach(count - 1) * error
    return mean - reach, mean + reach


def _shares(results: Sequence[RunResult], part: str, whole: float) -> list[float]:
    """Return each run's time in a part over `whole`, both as times of one core."""
    return [
        result.simulated_seconds * parts(result).get(part, 0.0) / sum(parts(result).values()) / whole
        for result in results
    ]
