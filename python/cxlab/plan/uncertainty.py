"""Carries the intervals of the inputs over to the outcome of a study.

Tornado: one input at a time, at the ends of its interval, all others nominal. Spread: all inputs at once,
each drawn from a triangular distribution over its interval with its peak at the nominal value,
independently. Grid: two inputs over a rectangle.

Not modelled: correlation between inputs. An outcome that peaks inside an interval shows in the spread, not
in the tornado, which looks at the ends only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cxlab.error import InputError
from cxlab.plan.assumption import Assumption, Study


@dataclass(frozen=True)
class Bar:
    """The outcome at both ends of one input's interval."""

    assumption: Assumption
    at_low: float
    at_high: float

    @property
    def swing(self) -> float:
        """How far the outcome moves."""
        return abs(self.at_high - self.at_low)


@dataclass(frozen=True)
class Spread:
    """The distribution of the outcome when all inputs vary."""

    draws: int  # draws inside the model's domain
    dropped: int  # draws outside it, as R_c above R_d
    p5: float
    p50: float
    p95: float
    chance_positive: float


@dataclass(frozen=True)
class Grid:
    """The outcome over a rectangle of two inputs; NaN outside the model's domain."""

    x: Assumption
    y: Assumption
    x_values: NDArray[np.float64]  # shape (nx,), canonical unit of x
    y_values: NDArray[np.float64]  # shape (ny,), canonical unit of y
    outcome: NDArray[np.float64]  # shape (ny, nx), fraction


def tornado(study: Study) -> list[Bar]:
    """Return a bar for each input that has an interval, the widest first."""
    nominal = study.nominal()
    bars = [
        Bar(
            a,
            study.evaluate({**nominal, a.key: a.value.low}),
            study.evaluate({**nominal, a.key: a.value.high}),
        )
        for a in study.assumptions
        if not a.value.is_exact
    ]
    return sorted(bars, key=lambda bar: -bar.swing)


def spread(study: Study, draws: int, seed: int) -> Spread | None:
    """Return the spread over `draws` draws, or None when no input has an interval."""
    uncertain = [a for a in study.assumptions if not a.value.is_exact]
    if not uncertain:
        return None
    random = np.random.default_rng(seed)
    columns = {a.key: random.triangular(a.value.low, a.value.nominal, a.value.high, draws) for a in uncertain}
    nominal = study.nominal()
    outcomes: list[float] = []
    for row in range(draws):
        try:
            outcomes.append(
                study.evaluate(nominal | {key: float(column[row]) for key, column in columns.items()})
            )
        except InputError:
            continue  # outside the model's domain: counted as dropped
    if not outcomes:
        return None
    p5, p50, p95 = (float(p) for p in np.percentile(outcomes, (5, 50, 95)))
    positive = sum(outcome > 0 for outcome in outcomes) / len(outcomes)
    return Spread(len(outcomes), draws - len(outcomes), p5, p50, p95, positive)


def grid(study: Study, x_key: str, y_key: str, x_values: Sequence[float], y_values: Sequence[float]) -> Grid:
    """Evaluate the study over `x_values` times `y_values`."""
    nominal = study.nominal()
    outcome = np.full((len(y_values), len(x_values)), np.nan)
    for row, y in enumerate(y_values):
        for column, x in enumerate(x_values):
            try:
                outcome[row, column] = study.evaluate({**nominal, x_key: x, y_key: y})
            except InputError:
                continue  # outside the model's domain: stays NaN
    return Grid(study.find(x_key), study.find(y_key), np.asarray(x_values), np.asarray(y_values), outcome)


def last_positive(outcome: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Return where a falling `outcome` stops being positive, by bisection to `tolerance`.

    Needs outcome(low) > 0 and outcome(high) <= 0; the outcome may fall in steps.
    """
    while high - low > tolerance:
        middle = (low + high) / 2
        if outcome(middle) > 0:
            low = middle
        else:
            high = middle
    return low
