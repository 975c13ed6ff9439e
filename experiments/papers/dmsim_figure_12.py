"""CXL-DMSim (Hong et al.), figure 12: the mix of reads and writes that has the most bandwidth.

The paper's text prints the best mix of each memory and no point of a curve. `cxlab bench mess` draws the
curves. The rows are of validation/points.toml. Half a minute in all.
"""

from __future__ import annotations

from experiments import validation_points
from experiments.experiment import Asked, Report, synthetic

SUBJECT = synthetic("the bench's load threads stand for the Mess benchmark")
MAKES = ("dmsim/fig12",)


def measure(asked: Asked) -> Report:
    """Both memories. Quick is the same: a point is a second."""
    sources = ("CXL-DMSim (Hong et al.), figure 12", "CXL-DMSim (Hong et al.), IV-B3")
    table = validation_points.figures_table("CXL-DMSim figure 12: the best mix", MAKES[0], sources)
    return validation_points.report([table])
