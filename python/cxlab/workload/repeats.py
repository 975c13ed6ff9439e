"""Means over seeds, and ratios of pairs with equal seeds, each with its interval of 95 %.

mean       Student's t of the values
ratio      of two means, by pairs: Student's t of the logarithms of the ratios; it is symmetric in the two
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from cxlab import student


@dataclass(frozen=True)
class Estimate:
    """A figure over seeds."""

    value: float
    #: None: one seed has no interval
    low: float | None
    high: float | None

    def excludes(self, value: float) -> bool:
        """Whether the interval lies on one side of ``value``, so that the difference is real."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


def _reach(values: Sequence[float]) -> float:
    """How far the interval of a mean goes to either side."""
    count = len(values)
    return student.reach(count - 1) * stdev(values) / math.sqrt(count)


def of_values(values: Sequence[float]) -> Estimate:
    """Mean of the values, with its interval if there are two or more."""
    middle = mean(values)
    if len(values) < 2:
        return Estimate(middle, None, None)
    reach = _reach(values)
    return Estimate(middle, middle - reach, middle + reach)


def of_ratios(new: Sequence[float], old: Sequence[float]) -> Estimate:
    """How many times the old one the new one is; values of equal seeds are in equal places."""
    logarithms = [math.log(one / other) for one, other in zip(new, old, strict=True)]
    middle = mean(logarithms)
    if len(logarithms) < 2:
        return Estimate(math.exp(middle), None, None)
    reach = _reach(logarithms)
    return Estimate(math.exp(middle), math.exp(middle - reach), math.exp(middle + reach))
