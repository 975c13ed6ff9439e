"""Intervals over seeds: Student's t, by a table's quantile, and how often they cover."""

from __future__ import annotations

import math
import random

import pytest
from cxlab.workload.repeats import of_ratios, of_values


def test_a_mean_has_students_interval() -> None:
    # Student's t of 4 degrees of freedom, two-sided 95 %: 2.776 (any table). Deviation of 1 to 5: sqrt(2.5).
    estimate = of_values([1.0, 2.0, 3.0, 4.0, 5.0])
    reach = 2.776 * math.sqrt(2.5 / 5)
    assert estimate.value == 3.0
    assert estimate.low == pytest.approx(3 - reach, abs=1e-3)
    assert estimate.high == pytest.approx(3 + reach, abs=1e-3)


def test_one_seed_has_no_interval_and_proves_no_difference() -> None:
    estimate = of_ratios([2.0], [1.0])
    assert (estimate.value, estimate.low, estimate.high) == (2.0, None, None)
    assert not estimate.excludes(1.0)


def test_a_ratio_is_of_pairs() -> None:
    # Seeds differ by a factor of ten, each pair by exactly 1.5: the ratio is sure.
    estimate = of_ratios([1.5, 15.0, 150.0], [1.0, 10.0, 100.0])
    assert estimate.low == pytest.approx(1.5) == estimate.high
    assert estimate.excludes(1.0)


def test_of_equal_placements_one_in_twenty_is_called_different() -> None:
    drawn, trials = random.Random(4), 4000
    called = 0
    for _ in range(trials):
        new, old = ([math.exp(drawn.gauss(0, 0.1)) for _ in range(5)] for _ in range(2))
        called += of_ratios(new, old).excludes(1.0)
    # 5 %, with five deviations of a binomial count.
    assert abs(called / trials - 0.05) < 5 * math.sqrt(0.05 * 0.95 / trials)
