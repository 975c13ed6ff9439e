"""MICRO'23 (Sun et al.), figure 4: efficiency of sequential bandwidth, by mix and by instruction.

The bars are rows of validation/points.toml that the text prints a number for. cxlab-memo stands for Intel MLC
and for the paper's memo.
"""

from __future__ import annotations

from experiments import validation_points, workloads
from experiments.experiment import Asked, Report
from experiments.measures import MEMO_LOADED_LATENCY

SUBJECT = workloads.subject(MEMO_LOADED_LATENCY)
MAKES = ("micro23/fig4",)
SOURCES = ("MICRO'23 (Sun et al.), figure 4",)
#: All reads of DDR5-R, and CXL-A less DDR5-R for st.
QUICK = ("M23-042", "M23-060")


def measure(asked: Asked) -> Report:
    """Panel a, mixes; panel b, instructions; quick: two rows."""
    title = "MICRO'23 figure 4: efficiency"
    table = validation_points.figures_table(asked, title, MAKES[0], SOURCES, QUICK)
    return validation_points.report(asked, [table])
