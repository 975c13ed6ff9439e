"""The report of a cost study: its verdict, the model as a form with sliders, and its inputs."""

from __future__ import annotations

from cxlab.plan import abstract_cost_model
from cxlab.plan.assumption import Assumption
from cxlab.plan.cost_report import CostReport
from cxlab.plan.quantity import Interval
from cxlab.report.cost_form import CostForm, Input
from cxlab.report.page import Facts, Report

#: Ratios that a slider reaches at least, by input: the least and the most.
REACH = {"r_d": (1.01, 20.0), "r_c": (1.0, 20.0), "c": (0.25, 8.0), "r_t": (0.5, 2.0)}


def report(cost: CostReport) -> Report:
    """Show a study. R_t that prices give has no interval in the form: its prices have."""
    model, study = cost.model, cost.cost
    priced = Interval(model.r_t, model.r_t, model.r_t)
    values = {
        "r_d": (study.r_d.meaning, study.r_d.value),
        "r_c": (study.r_c.meaning, study.r_c.value),
        "c": (study.c.meaning, study.c.value),
        "r_t": (
            (study.r_t.meaning, study.r_t.value)
            if isinstance(study.r_t, Assumption)
            else ("R_t, TCO of a CXL server over a baseline server, from the prices", priced)
        ),
    }
    form = CostForm(
        "What if",
        [
            Input(
                key,
                meaning,
                value.low,
                value.nominal,
                value.high,
                min(REACH[key][0], value.low),
                max(REACH[key][1], 1.5 * value.high),
            )
            for key, (meaning, value) in values.items()
        ],
    )
    rows = [(a.key, a.meaning, a.show(), a.provenance.source) for a in cost.study.assumptions]
    inputs = Facts("Inputs", ("input", "meaning", "value", "source"), rows)
    summary = f"{cost.verdict} The model: {abstract_cost_model.SOURCE}."
    return Report("What CXL memory does to the bill", summary, [form, inputs])
