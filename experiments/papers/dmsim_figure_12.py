"""CXL-DMSim (Hong et al.), figure 12: the mix of reads and writes that has the most bandwidth.

The paper's text prints the best mix of each memory and no point of a curve. cxlab-memo's load threads
stand for the Mess benchmark. `cxlab bench mess` draws the curves.
"""

from __future__ import annotations

from experiments import validation_points, workloads
from experiments.experiment import Asked, Report
from experiments.measures import MEMO_LOADED_LATENCY

SUBJECT = workloads.subject(MEMO_LOADED_LATENCY)
MAKES = ("dmsim/fig12",)
SOURCES = ("CXL-DMSim (Hong et al.), figure 12", "CXL-DMSim (Hong et al.), IV-B3")
QUICK = ("DMS-008",)


def measure(asked: Asked) -> Report:
    """Both memories; quick: three mixes on CXL-ASIC."""
    title = "CXL-DMSim figure 12: the best mix"
    table = validation_points.figures_table(asked, title, MAKES[0], SOURCES, QUICK)
    return validation_points.report(asked, [table])
