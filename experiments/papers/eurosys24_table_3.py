"""EuroSys'24 (Tang et al.), table 3: the Abstract Cost Model and its example in section 6.

The example's inputs are the paper's: R_d = 10, R_c = 8, C = 2, R_t = 1.1. `cxlab plan cost` takes one's own.
"""

from __future__ import annotations

from functools import partial

from cxlab import figure
from cxlab.plan.abstract_cost_model import AbstractCost

from experiments.experiment import Asked, Report, closed_form
from experiments.report import Figures, Row

SUBJECT = closed_form("the Abstract Cost Model of section 6, at the paper's inputs")
MAKES = ("eurosys24/table3",)
EXAMPLE = AbstractCost(r_d=10, r_c=8, c=2, r_t=1.1)


def measure(asked: Asked) -> Report:
    """The example's two results, as changes over the baseline cluster."""
    rows = [
        Row("servers with CXL memory over the baseline", -32.71, 100 * (EXAMPLE.server_ratio - 1)),
        Row("TCO with CXL memory over the baseline", -25.98, -100 * EXAMPLE.tco_saving),
    ]
    table = Figures("EuroSys'24 section 6: the example", rows, MAKES[0])
    draw = partial(figure.bars, title=table.title, y="over the baseline [%]", pairs=table.pairs())
    return Report([table], figure=draw)
