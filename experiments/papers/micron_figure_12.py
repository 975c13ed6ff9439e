"""Micron and AMD (Petrucci et al.), figure 12b: CloverLeaf with a fifth of the pages on CXL memory.

A 2-D Euler mini-app with CloverLeaf's kernels, eight threads on a twelfth of the testbed. Ratios of
bandwidths and processors are about the paper's, and the grid is four times the LLC. 80:20 is a fifth.
"""

from __future__ import annotations

from functools import partial
from statistics import mean

from cxlab import figure

from experiments import machines, workloads
from experiments.experiment import Asked, Report
from experiments.measures import EULER
from experiments.report import Figures

SUBJECT = workloads.subject(EULER)
MAKES = ("micron/fig12",)
#: Share of pages on CXL memory -> gain over DDR alone [%]; the text prints no other.
GAIN = {20: 17.0}


def measure(asked: Asked) -> Report:
    """The paper's share over DDR alone."""
    runs = workloads.Runs(asked, EULER, machines.cz120_slice())
    alone = runs.measure(workloads.share(0)).cells_per_second
    rows = [
        workloads.row(
            f"{percent} % of pages on CXL over DDR alone",
            gain,
            runs.measure(workloads.share(percent)).cells_per_second,
            alone,
        )
        for percent, gain in GAIN.items()
    ]
    notes = [f"DDR alone: {mean(alone) / 1e6:.2f} million cells a second"]
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("Micron, figure 12b: Euler mini-app by share of pages", rows, MAKES[0])
    draw = partial(
        figure.bars, title="CloverLeaf's kernels", y="speed over DDR alone [%]", pairs=table.pairs()
    )
    return Report([table], notes, draw)
