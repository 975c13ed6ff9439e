"""The fit: bounded least squares (scipy, trust region reflective), the simulator in the loop.

    x (value / start) --> candidate --> residuals ln(simulated / measured), weighted
    Jacobian: one step forward for each parameter, all in parallel; then Broyden's updates (Math. Comp. 19,
    1965), which cost no simulation. Where that ends, once more with a new Jacobian
    Whole numbers: two to each side of the end are tried, and from a better one the search goes on. As a count
    of buffers grows, the residual may rise before it falls

A step is large against the simulator's own scatter. It has one size for all parameters of a unit. So two
times that only appear as their sum have the same column, digit for digit.

A point's weight is that of its scatter: under load the simulator's latency differs from seed to seed, idle it
hardly does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cxlab.bench.request import SEED
from cxlab.calibrate.observation import Observation
from cxlab.calibrate.parameter import Parameter
from cxlab.calibrate.simulator import Simulator

Array = NDArray[np.float64]
#: Of the largest parameter of a unit.
STEP = 0.05
#: The search ends when it moves parameters, or the sum of squares, by less than this.
TOLERANCE = 1e-3
#: Of the search, each with a new Jacobian.
ROUNDS = 2
#: Whole numbers to each side that are tried where the search has ended.
BESIDE = 2
#: Of the model's random streams, to see how much they matter.
SEEDS = (1, 2, 3)
#: Relative; assumption: loaded-latency runs of one machine repeat to about this.
MEASUREMENT_ERROR = 0.01


@dataclass(frozen=True)
class Fit:
    """The end of a search."""

    #: in the parameters' units, as simulated
    values: tuple[float, ...]
    #: ln(simulated / measured) of the fitted observations, times weight
    residuals: Array
    #: d residual / d x, x = value / start; `None` where the search was stopped
    jacobian: Array | None
    #: what a column of it has from the simulator's scatter alone, by parameter
    column_noise: Array
    complete: bool


class _Search:
    """The function that the optimiser calls, and the best point that it has seen."""

    def __init__(self, simulator: Simulator, parameters: Sequence[Parameter], fitted: Sequence[Observation]):
        self.simulator, self.parameters, self.fitted = simulator, parameters, fitted
        self.start = np.array([p.start for p in parameters])
        self.steps = _steps(parameters)
        self.weights = np.ones(len(fitted))
        self.scatter = np.zeros(len(fitted))
        self.best: tuple[float, Array, Array] | None = None
        self.jacobian: Array | None = None
        #: where the Jacobian was last told (x, residuals)
        self.last: tuple[Array, Array] | None = None

    def weigh(self) -> None:
        """Weigh the points by the scatter of the start's points from seed to seed."""
        start = np.ones(len(self.parameters))
        runs = np.array([self._residuals([start], seed)[0] for seed in SEEDS])
        self.scatter = np.std(runs, axis=0, ddof=1)
        self.weights = 1 / np.hypot(1, self.scatter / MEASUREMENT_ERROR)

    def column_noise(self) -> Array:
        noise: Array = np.sqrt(2) * np.linalg.norm(self.scatter * self.weights) / self.steps
        return noise

    def residuals(self, x: Array) -> Array:
        [found] = self._residuals([x])
        self._judge(x, found)
        return found

    def _judge(self, x: Array, found: Array) -> bool:
        """Keep the candidate if it is the best so far: whether it is."""
        cost = float(found @ found)
        if self.best is not None and cost >= self.best[0]:
            return False
        self.best = (cost, x.copy(), found)
        return True

    def beside(self, x: Array) -> bool:
        """Try whole numbers near those of ``x``, one parameter at a time: whether one is the best so far."""
        here = self._settled(x)
        by = [delta for delta in range(-BESIDE, BESIDE + 1) if delta]
        candidates = [
            here + np.eye(len(here))[place] * delta / parameter.start
            for place, parameter in enumerate(self.parameters)
            for delta in by
            if parameter.whole and parameter.low <= here[place] * parameter.start + delta <= parameter.high
        ]
        found = self._residuals(candidates)
        return any([self._judge(at, of) for at, of in zip(candidates, found, strict=True)])

    def derivatives(self, x: Array) -> Array:
        """The Jacobian: by steps where there is none yet, else the last one with Broyden's update."""
        here = self._settled(x)
        [found] = self._residuals([x])
        if self.jacobian is None or self.last is None:
            self.jacobian = self.by_steps(x)
        else:
            moved, changed = here - self.last[0], found - self.last[1]
            if (square := float(moved @ moved)) > 0:
                self.jacobian = self.jacobian + np.outer(changed - self.jacobian @ moved, moved) / square
        self.last = here, found
        return self.jacobian

    def by_steps(self, x: Array) -> Array:
        """Steps turn back where forward is out of bounds."""
        here = self._settled(x)
        high = np.array([p.high for p in self.parameters]) / self.start
        steps = np.where(here + self.steps <= high, self.steps, -self.steps)
        found, *there = self._residuals([here, *(here + row for row in np.diag(steps))])
        return np.column_stack([(t - found) / step for t, step in zip(there, steps, strict=True)])

    def _settled(self, x: Array) -> Array:
        here: Array = np.array(self.simulator.settled(x * self.start)) / self.start
        return here

    def _residuals(self, xs: Sequence[Array], seed: int = SEED) -> list[Array]:
        points = self.simulator.run([x * self.start for x in xs], self.fitted, seed)
        return [
            self.weights * [o.residual(p) for o, p in zip(self.fitted, row, strict=True)] for row in points
        ]


def fit(
    simulator: Simulator,
    parameters: Sequence[Parameter],
    fitted: Sequence[Observation],
    iterations: int,
    told: Callable[[float], None],
) -> Fit:
    """Search from the start; what was found so far if the user interrupts.

    Args:
        simulator: runs candidates.
        parameters: what is free.
        fitted: observations with the role of being fitted.
        iterations: candidates of a round at most, beside its Jacobian.
        told: hears the root mean square residual of the best candidate after each trial.

    Raises:
        InputError: the model refuses a candidate.
        KeyboardInterrupt: before anything was found.

    """
    search = _Search(simulator, parameters, fitted)

    def residuals(x: Array) -> Array:
        found = search.residuals(x)
        assert search.best is not None
        told(float(np.sqrt(search.best[0] / len(found))))
        return found

    low, high = (np.array([getattr(p, end) for p in parameters]) / search.start for end in ("low", "high"))

    def ended() -> Array:
        """Search on from the best so far, with a new Jacobian: the best candidate of all."""
        search.jacobian = search.last = None
        x = np.ones(len(parameters)) if search.best is None else search.best[1]
        # To read scipy's optimizers takes half a second, and `cxlab --help` reads this module.
        from scipy.optimize import least_squares

        least_squares(
            residuals, x, search.derivatives, bounds=(low, high),
            xtol=TOLERANCE, ftol=TOLERANCE, gtol=None, max_nfev=iterations,
        )  # fmt: skip
        assert search.best is not None
        return search.best[1]

    try:
        search.weigh()
        for _ in range(ROUNDS):
            x = ended()
        if search.beside(x):
            x = ended()
        jacobian, complete = search.by_steps(x), True
    except KeyboardInterrupt:
        if search.best is None:
            raise
        jacobian, complete = None, False
    assert search.best is not None
    _, x, found = search.best
    return Fit(simulator.settled(x * search.start), found, jacobian, search.column_noise(), complete)


def _steps(parameters: Sequence[Parameter]) -> Array:
    """Steps in x: one size for all parameters of a unit, a whole number for counts."""

    def step(parameter: Parameter) -> float:
        if parameter.whole:
            return max(1.0, round(STEP * parameter.start)) / parameter.start
        alike = [p.start for p in parameters if p.unit == parameter.unit and not p.whole]
        room = (parameter.high - parameter.low) / 2
        return min(STEP * max(alike), room) / parameter.start

    return np.array([step(p) for p in parameters])
