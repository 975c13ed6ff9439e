"""Finds what the data determine: intervals of parameters, and parameters that they cannot tell apart.

    J = U S V', columns scaled to length 1: along a direction of V with a small singular value the parameters
    move together and the data stay as they are (Belsley, Kuh, Welsch, Regression Diagnostics, 1980, 3.2)

Small is relative to the largest, or to what the simulator's scatter does to a column. A column that
does not stand out of that scatter is a parameter that the data do not see at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from cxlab import student
from cxlab.calibrate.fit import Fit
from cxlab.calibrate.parameter import Parameter

Array = NDArray[np.float64]
#: Singular values below this share of the largest: a condition index above 30 (Belsley et al.: harmful).
SMALL = 1 / 30
#: A parameter takes part in a direction from this share of its length.
PART = 0.2


class Determined(Enum):
    """Whether the data tell a parameter."""

    YES = "yes"
    NOT_ALONE = "only with others"
    NO = "not at all"
    AT_BOUND = "at its bound"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Estimate:
    """A parameter with what is known of it."""

    parameter: Parameter
    #: the start's, where the data do not see the parameter
    value: float
    #: 95 %, `None` where the data do not determine it
    interval: tuple[float, float] | None
    determined: Determined


@dataclass(frozen=True)
class Together:
    """Parameters that the data see only as one number: sum of factor x parameter."""

    parts: tuple[tuple[float, Parameter], ...]
    value: float
    #: half of the 95 % interval
    half_width: float | None

    def text(self) -> str:
        """The number in words, as ``a + b = 64 ns +- 1 ns``."""
        shown = " + ".join(p.name if abs(f - 1) < 0.005 else f"{f:.2f} x {p.name}" for f, p in self.parts)
        half = "" if self.half_width is None else f" +- {self.half_width:.2g}"
        return f"{shown} = {self.value:.4g}{half} {self.parts[0][1].unit}".replace("+ -", "- ").rstrip()


def estimates(parameters: Sequence[Parameter], fit: Fit) -> tuple[list[Estimate], list[Together]]:
    """Each parameter with its interval, and the combinations of those that are not determined alone."""
    if fit.jacobian is None:
        unknown = zip(parameters, fit.values, strict=True)
        return [Estimate(p, value, None, Determined.UNKNOWN) for p, value in unknown], []
    start = np.array([p.start for p in parameters])
    jacobian = fit.jacobian / start  # per unit of each parameter
    lengths = np.linalg.norm(jacobian, axis=0)
    noise = fit.column_noise / start
    blind = lengths <= noise
    seen = [int(n) for n in np.flatnonzero(~blind)]
    directions, covariance = _directions(jacobian[:, seen], lengths[seen], noise[seen], fit.residuals)
    alone = {seen[n] for d in directions for n in np.flatnonzero(np.abs(d) > PART)}
    intervals = _Interval.of(covariance, len(fit.residuals) - len(seen) + len(directions))
    found = []
    for number, (parameter, value) in enumerate(zip(parameters, fit.values, strict=True)):
        kind = _kind(parameter, value, bool(blind[number]), number in alone)
        told = kind is Determined.YES
        width = intervals.half(_unit(seen.index(number), len(seen))) if told else None
        if width is not None and 2 * width >= parameter.high - parameter.low:
            # All that was searched is in the interval: the data say nothing that was not known before.
            kind, width = Determined.NO, None
        interval = None if width is None else (value - width, value + width)
        settled = parameter.start if kind is Determined.NO else value
        found.append(Estimate(parameter, settled, interval, kind))
    shown = [parameters[n] for n in seen], np.array(fit.values)[seen]
    together = [_together(d / lengths[seen], *shown, intervals) for d in directions]
    return found, [combination for combination in together if combination is not None]


def _kind(parameter: Parameter, value: float, blind: bool, with_others: bool) -> Determined:
    if blind:
        return Determined.NO
    if with_others:
        return Determined.NOT_ALONE
    margin = 1e-3 * (parameter.high - parameter.low)
    if value <= parameter.low + margin or value >= parameter.high - margin:
        return Determined.AT_BOUND
    return Determined.YES


def _directions(jacobian: Array, lengths: Array, noise: Array, residuals: Array) -> tuple[list[Array], Array]:
    """Directions that change nothing (columns scaled to 1), and the covariance of the others, unscaled."""
    count = jacobian.shape[1]
    if count == 0:
        return [], np.zeros((0, 0))
    _, values, rows = np.linalg.svd(jacobian / lengths, full_matrices=False)
    values = np.pad(values, (0, count - len(values)))
    if len(rows) < count:
        rows = np.linalg.svd(jacobian / lengths)[2]
    small = np.maximum(SMALL * values[0], float(np.max(noise / lengths)) / np.sqrt(count))
    keep = values > small
    inverse = (rows[keep].T / values[keep] ** 2) @ rows[keep]
    freedom = len(residuals) - int(keep.sum())
    variance = float(residuals @ residuals) / freedom if freedom > 0 else np.nan
    return list(rows[~keep]), variance * inverse / np.outer(lengths, lengths)


@dataclass(frozen=True)
class _Interval:
    """Intervals of combinations of the parameters that the data see."""

    covariance: Array
    #: of Student's t; `None` with as many parameters as points
    quantile: float | None

    @staticmethod
    def of(covariance: Array, freedom: int) -> _Interval:
        return _Interval(covariance, student.reach(freedom) if freedom > 0 else None)

    def half(self, combination: Array) -> float | None:
        """Half of the 95 % interval."""
        if self.quantile is None:
            return None
        return self.quantile * float(np.sqrt(combination @ self.covariance @ combination))


def _unit(place: int, count: int) -> Array:
    row: Array = np.eye(count)[place]
    return row


def _together(
    direction: Array, parameters: Sequence[Parameter], values: Array, interval: _Interval
) -> Together | None:
    """The number that stays as it is along a direction, from the two parameters that move most."""
    if len(parameters) < 2:
        return None
    moves = np.abs(direction) / np.array([p.start for p in parameters])
    first, second = sorted(int(n) for n in np.argsort(moves)[-2:])
    factor = float(-direction[first] / direction[second])
    combination = _unit(first, len(parameters)) + factor * _unit(second, len(parameters))
    parts = ((1.0, parameters[first]), (factor, parameters[second]))
    return Together(parts, float(combination @ values), interval.half(combination))
