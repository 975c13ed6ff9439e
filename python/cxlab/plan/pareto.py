"""Cost against slow-down: the cheapest fleet at each mean slow-down, with and without CXL memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cxlab.error import InputError
from cxlab.plan.applications import Applications
from cxlab.plan.assumption import Values
from cxlab.plan.mix import MixPlan, cheapest
from cxlab.plan.quantity import GiB


@dataclass(frozen=True)
class ParetoPoint:
    """A fleet that no other beats in both cost and slow-down."""

    with_cxl: bool  # found among designs with CXL memory allowed
    plan: MixPlan


def pareto(
    applications: Applications, values: Values, bounds: int, advance: Callable[[], None]
) -> list[ParetoPoint]:
    """Return both frontiers, each by rising slow-down, from `bounds` bounds each.

    Bounds run evenly from none slowed (1.0) to the mean slow-down of the cheapest fleet. `advance` is called
    after each.
    """
    found = []
    for with_cxl, choices in ((False, (GiB(0.0),)), (True, applications.cxl_choices)):
        loosest = cheapest(applications, values, choices)
        plans = [loosest]
        for step in range(bounds):
            limit = 1 + (loosest.mean_slowdown - 1) * step / bounds
            try:
                plans.append(cheapest(applications, values, choices, limit))
            except InputError:
                continue  # no fleet within that bound
            finally:
                advance()
        found += [ParetoPoint(with_cxl, plan) for plan in undominated(plans)]
    return found


def undominated(plans: list[MixPlan]) -> list[MixPlan]:
    """Return the plans that no other beats in both cost and slow-down, by rising slow-down."""
    kept: list[MixPlan] = []
    for plan in sorted(plans, key=lambda plan: (plan.mean_slowdown, plan.tco)):
        if not kept or plan.tco < kept[-1].tco * (1 - 1e-9):
            kept.append(plan)
    return kept
