"""EuroSys'24 (Tang et al.), figures 3 and 4: latency and bandwidth of main and CXL memory, near and far.

The rows are of validation/points.toml: the ends of the curves that the text prints, and what the paper's
artifact has for the same curves. `cxlab validate --reference DIR` compares whole curves.
Half a minute in all.
"""

from __future__ import annotations

from experiments import validation_points
from experiments.experiment import Asked, Report, synthetic

SUBJECT = synthetic("the bench's load threads stand for Intel MLC")
MAKES = ("eurosys24/fig3", "eurosys24/fig4")


def measure(asked: Asked) -> Report:
    """Both figures. Quick is the same: a point is a second."""
    paper = "EuroSys'24 (Tang et al.)"
    sources = (f"{paper}, figure 3", f"{paper}, artifact")
    distances = validation_points.figures_table("EuroSys'24 figure 3: by distance", MAKES[0], sources)
    ratios = validation_points.figures_table("EuroSys'24 figure 4: idle ratios", MAKES[1], (f"{paper}, 3.3",))
    return validation_points.report([distances, ratios])
