"""The report of a calibration: parameters, what the data cannot tell, errors of fit and hold-out apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from cxlab.border import BenchPoint
from cxlab.calibrate.fit import Fit
from cxlab.calibrate.identify import Determined, Estimate, Together
from cxlab.calibrate.observation import Observation, Quantity, Role
from cxlab.output import table


@dataclass(frozen=True)
class Outcome:
    """A calibration that has ended."""

    start: str
    estimates: Sequence[Estimate]
    together: Sequence[Together]
    fit: Fit
    observations: Sequence[Observation]
    #: of the calibrated machine, one an observation
    points: Sequence[BenchPoint]
    #: of the machine that it started from
    before: Sequence[BenchPoint]

    def errors(self, role: Role, quantity: Quantity, before: bool = False) -> list[float]:
        """Relative errors, simulated / measured - 1."""
        points = self.before if before else self.points
        pairs = zip(self.observations, points, strict=True)
        return [o.simulated(p) / o.value - 1 for o, p in pairs if o.role is role and o.quantity is quantity]


def show(outcome: Outcome, console: Console) -> None:
    """Print all of it."""
    console.print(_parameters(outcome.estimates))
    for combination in outcome.together:
        console.print(f"only together: {combination.text()}", markup=False)
    console.print(_errors(outcome))
    if not outcome.fit.complete:
        console.print("PARTIAL: interrupted; this is the best candidate by then, without intervals")


def _parameters(estimates: Sequence[Estimate]) -> Table:
    headings = ("parameter", "start", "value", "95 % interval", "bounds", "determined")
    shown = table(headings, title="parameters", fold=1)
    for one in estimates:
        free = one.parameter
        interval = "-" if one.interval is None else f"{one.interval[0]:.4g} .. {one.interval[1]:.4g}"
        shown.add_row(
            free.name,
            free.text(free.start),
            free.text(one.value),
            interval,
            f"{free.low:.4g} .. {free.high:.4g}",
            one.determined.value,
        )
    return shown


def _errors(outcome: Outcome) -> Table:
    headings = ("points", "what", "number", "at the start", "calibrated", "worst")
    shown = table(headings, title="mean absolute error, simulated against measured", left=2)
    for role in Role:
        for quantity in Quantity:
            errors = outcome.errors(role, quantity)
            if not errors:
                continue
            worst = max(errors, key=abs)
            shown.add_row(
                role.value,
                quantity.name.lower(),
                str(len(errors)),
                f"{_mean(outcome.errors(role, quantity, before=True)):.2%}",
                f"{_mean(errors):.2%}",
                f"{worst:+.1%}",
            )
    return shown


def _mean(errors: Sequence[float]) -> float:
    return float(np.mean(np.abs(errors)))


def document(outcome: Outcome, measured: Sequence[str]) -> dict[str, Any]:
    """As ``--json`` writes it; values in each parameter's unit, latencies in ns, bandwidths in 10^6 B/s."""
    return {
        "start": outcome.start,
        "measured": list(measured),
        "complete": outcome.fit.complete,
        "parameters": [
            {
                "name": one.parameter.name,
                "unit": one.parameter.unit,
                "start": one.parameter.start,
                "value": one.value,
                "interval": one.interval,
                "low": one.parameter.low,
                "high": one.parameter.high,
                "determined": one.determined.name.lower(),
            }
            for one in outcome.estimates
        ],
        "only_together": [
            {
                "parts": [{"factor": factor, "name": p.name} for factor, p in one.parts],
                "value": one.value,
                "half_width": one.half_width,
            }
            for one in outcome.together
        ],
        "errors": {
            f"{role.name.lower()}_{quantity.name.lower()}": _mean(errors)
            for role in Role
            for quantity in Quantity
            if (errors := outcome.errors(role, quantity))
        },
        "points": [
            {
                "series": o.series.label,
                "role": o.role.name.lower(),
                "quantity": o.quantity.value,
                "at_bandwidth_mb_s": o.bandwidth,
                "measured": o.value,
                "simulated": o.simulated(p),
            }
            for o, p in zip(outcome.observations, outcome.points, strict=True)
        ],
    }


def source(one: Estimate, together: Sequence[Together], measured: str, date: str) -> str:
    """Return the source that stands beside the number in the machine's file."""
    text = f"calibrated from {measured} on {date}"
    match one.determined:
        case Determined.YES if one.interval is not None:
            low, high = one.interval
            return f"{text}; 95 %: {low:.4g} to {high:.4g} {one.parameter.unit}".rstrip()
        case Determined.NOT_ALONE:
            mine = [t.text() for t in together if one.parameter in [p for _, p in t.parts]]
            return f"{text}; the data determine only {'; '.join(mine) or 'a combination with others'}"
        case Determined.NO:
            return f"{text}; the data do not see it: left as in the start"
        case Determined.AT_BOUND:
            return f"{text}; at the bound of the search"
        case _:
            return f"{text}; no interval is known"
