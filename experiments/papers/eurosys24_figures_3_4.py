"""EuroSys'24 (Tang et al.), figures 3 and 4: latency and bandwidth of main and CXL memory, near and far.

The rows are of validation/points.toml: the ends of the curves that the text prints, and what the paper's
artifact has for the same curves. cxlab-memo stands for Intel MLC, with 16 load threads as there. Its
chase goes over its whole buffer, MLC's over blocks. `cxlab validate --reference DIR` compares whole
curves.
"""

from __future__ import annotations

from cxlab.bench.figures import Settings
from cxlab.workload import repeats

from experiments import validation_points, workloads
from experiments.experiment import Asked, Report
from experiments.measures import MEMO_LOADED_LATENCY
from experiments.report import RATIO, Figures, Row

SUBJECT = workloads.subject(MEMO_LOADED_LATENCY)
MACHINE = "spr-a1000"
#: Section 3.3: idle latency of CXL memory over that of local and of remote DDR5, from and to. The model is
#: calibrated on the first two, so only the second ratio predicts.
IDLE = (("dram", 2.4, 2.6, True), ("remote", 1.5, 1.92, False))
MAKES = ("eurosys24/fig3", "eurosys24/fig4")
PAPER = "EuroSys'24 (Tang et al.)"
#: Write-only on DDR, reads of the CXL card and a mix on it; the ratio to the other socket's DDR.
QUICK = ("BD-013", "A1000-peak", "BD-021", "BD-020")


def measure(asked: Asked) -> Report:
    """Both figures; quick: four rows of figure 3, idle rows with one load thread."""
    sources = (f"{PAPER}, figure 3", f"{PAPER}, artifact")
    distances = validation_points.figures_table(
        asked, "EuroSys'24 figure 3: by distance", MAKES[0], sources, QUICK
    )
    return validation_points.report(asked, [distances, idle_ratios(asked)])


def idle_ratios(asked: Asked) -> Figures:
    """Latency of CXL memory over that of each DDR, all reads."""

    def latency(node: str) -> list[float]:
        settings = Settings(node=node, delay=validation_points.IDLE_DELAY)
        return validation_points.memory_workload(asked, MACHINE, settings).over_seeds()

    rows = []
    for node, paper, paper_to, calibrated in IDLE:
        found = repeats.of_ratios(latency("cxl"), latency(node))
        what = f"CXL over {node}, idle"
        rows.append(Row(what, paper, found.value, RATIO, paper_to, calibrated, "idle", found.low, found.high))
    return Figures("EuroSys'24 figure 4: idle ratios", rows, MAKES[1])
