"""CXL-DMSim (Hong et al.), figure 11: STREAM's four kernels on three memories over DDR-L.

cxlab-memo's STREAM in a guest: four threads, and four slices of LLC, so that 16 MiB arrays are three
times all caches. The paper's 1024 MB are about ten times its LLC. Each thread is bound to a processor of
its own.
"""

from __future__ import annotations

from experiments import validation_points, workloads
from experiments.experiment import Asked, Report
from experiments.measures import MEMO_STREAM

SUBJECT = workloads.subject(MEMO_STREAM)
MAKES = ("dmsim/fig11",)
SOURCES = ("CXL-DMSim (Hong et al.), figure 11",)
#: All kernels on CXL-ASIC and on DDR-L are two guests.
QUICK = ("DMS-005", "DMS-005-copy", "DMS-005-scale", "DMS-005-add")


def measure(asked: Asked) -> Report:
    """All bars; quick: CXL-ASIC over DDR-L."""
    title = "CXL-DMSim figure 11: STREAM over DDR-L"
    table = validation_points.figures_table(asked, title, MAKES[0], SOURCES, QUICK)
    return validation_points.report(asked, [table])
