"""Tornado, spread and grid on an outcome whose answers are known: x - 2 y."""

import pytest
from cxlab.error import Code, InputError
from cxlab.plan.assumption import Assumption, Origin, Provenance, Study, Values
from cxlab.plan.quantity import Dimension, Interval, Range
from cxlab.plan.uncertainty import grid, last_positive, spread, tornado

TYPED = Provenance(Origin.TYPED, "test", "now")


def study(x: Interval, y: Interval, limit: float = 1e9) -> Study:
    def outcome(values: Values) -> float:
        if values["x"] > limit:
            raise InputError(Code.OUT_OF_RANGE, "x", "is too large", f"x <= {limit}")
        return values["x"] - 2 * values["y"]

    inputs = tuple(
        Assumption(key, key, Dimension.RATIO, value, Range(-1e9), TYPED, key)
        for key, value in (("x", x), ("y", y))
    )
    return Study("outcome", inputs, outcome)


def test_tornado_puts_the_widest_first_and_leaves_out_what_is_certain() -> None:
    bars = tornado(study(Interval(5, 4, 7), Interval(1, 0, 3)))
    assert [(b.assumption.key, b.at_low, b.at_high) for b in bars] == [("y", 5, -1), ("x", 2, 5)]
    assert [b.assumption.key for b in tornado(study(Interval(5, 4, 7), Interval.exactly(1)))] == ["x"]


def test_spread_has_the_quantiles_of_a_triangle() -> None:
    # peak in the middle of 0..2: the 5th percentile is at sqrt(0.05 * 2), the 95th as far below 2
    got = spread(study(Interval(1, 0, 2), Interval.exactly(0)), draws=20_000, seed=3)
    assert got is not None
    assert got.p5 == pytest.approx(0.1**0.5, abs=0.02)
    assert got.p50 == pytest.approx(1, abs=0.02)
    assert got.p95 == pytest.approx(2 - 0.1**0.5, abs=0.02)
    assert (got.chance_positive, got.draws, got.dropped) == (1.0, 20_000, 0)


def test_spread_counts_what_lies_outside_the_model() -> None:
    got = spread(study(Interval(1, 0, 2), Interval.exactly(0), limit=1), draws=4000, seed=3)
    assert got is not None
    assert got.draws + got.dropped == 4000
    assert got.dropped == pytest.approx(2000, abs=150)  # half of a symmetric triangle; 150 is 4.7 sigma


def test_the_same_seed_gives_the_same_spread() -> None:
    inputs = study(Interval(1, 0, 2), Interval(1, 0, 2))
    assert spread(inputs, 50, 7) == spread(inputs, 50, 7)
    assert spread(inputs, 50, 7) != spread(inputs, 50, 8)


def test_certain_inputs_have_no_spread() -> None:
    assert spread(study(Interval.exactly(1), Interval.exactly(1)), 10, 1) is None


def test_grid_has_a_row_for_each_y_and_nan_outside_the_model() -> None:
    got = grid(study(Interval.exactly(1), Interval.exactly(1), limit=1.5), "x", "y", [1, 2], [0, 1, 2])
    assert got.outcome.shape == (3, 2)
    assert got.outcome[:, 0].tolist() == [1, -1, -3]
    assert all(value != value for value in got.outcome[:, 1])


def test_bisection_finds_a_step() -> None:
    assert last_positive(lambda p: 1.0 if p < 3.3 else 0.0, 0, 1000, 1e-6) == pytest.approx(3.3, abs=1e-6)
