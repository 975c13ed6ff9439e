"""CXL-DMSim (Hong et al.), figure 10: the plateau of lat_mem_rd's curve on four memories.

lmbench is not among Debian's free packages: cxlab-memo's random chase stands for its lat_mem_rd. 130, 284 and
375 ns are calibrated; DDR5 of the other socket is predicted. `cxlab bench latency --sweep` has the curve.
"""

from __future__ import annotations

from experiments import validation_points, workloads
from experiments.experiment import Asked, Report
from experiments.measures import MEMO_LATENCY

SUBJECT = workloads.subject(MEMO_LATENCY)
MAKES = ("dmsim/fig10",)
SOURCES = ("CXL-DMSim (Hong et al.), figure 10",)


def measure(asked: Asked) -> Report:
    """All plateaus. Quick: one seed of each."""
    quick = [row.id for row in validation_points.rows_of(SOURCES)]
    table = validation_points.figures_table(asked, "CXL-DMSim figure 10", MAKES[0], SOURCES, quick)
    return validation_points.report(asked, [table])
