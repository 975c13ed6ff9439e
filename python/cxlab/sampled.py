"""Figures of sampled runs. Each has an interval that can be believed, or is not told.

::

    value, its path in the summary --> in `intervals`, not in `too_few_windows_for`? --> value (low .. high)
                                                                                        else "-"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cxlab.border import Sampling

#: In the place of a figure that too few windows have seen.
UNTOLD = "-"


@dataclass(frozen=True)
class Term:
    """A part of a figure: a number of the summary by its path, times a factor."""

    path: str
    factor: float = 1.0


def _at(intervals: Any, path: str) -> Any:
    """The ends of a number; of a stage that nothing went through, which the tree does not name, zeros."""
    keys = path.split(".")
    for depth, key in enumerate(keys):
        if not isinstance(intervals, dict):
            return None
        if key not in intervals and depth == len(keys) - 1 and "stages_ns" in keys:
            return (0.0, 0.0)
        intervals = intervals.get(key)
    return intervals


def ends(sampling: Sampling, path: str) -> tuple[float, float] | None:
    """The ends of the interval of a number of the summary; None if no window tells of it."""
    found = _at(sampling.intervals, path)
    return None if found is None else (found[0], found[1])


def interval(sampling: Sampling, terms: Sequence[Term]) -> tuple[float, float] | None:
    """Return the interval of the sum of terms; None if too few windows tell of one of them.

    With several terms it is as wide as if all erred in the worst way together.
    """
    low = high = 0.0
    for term in terms:
        found = ends(sampling, term.path)
        if found is None or term.path in sampling.too_few_windows_for:
            return None
        least, most = sorted(term.factor * end for end in found)
        low, high = low + least, high + most
    return low, high


def told(sampling: Sampling | None, terms: Sequence[Term], value: float, text: Callable[[float], str]) -> str:
    """The value as text; of a sampled run with its interval, or as untold.

    Without terms it is known exactly.
    """
    if sampling is None or not terms:
        return text(value)
    found = interval(sampling, terms)
    return UNTOLD if found is None else f"{text(value)} ({text(max(found[0], 0.0))} .. {text(found[1])})"
