"""CXL-DMSim (Hong et al.), figure 11: STREAM's four kernels on three memories over DDR-L.

The bars are rows of validation/points.toml. Half a minute in all.
"""

from __future__ import annotations

from experiments import validation_points
from experiments.experiment import Asked, Report, synthetic

SUBJECT = synthetic("the bench's copy, scale, add and triad stand for STREAM")
MAKES = ("dmsim/fig11",)


def measure(asked: Asked) -> Report:
    """All bars. Quick is the same: a point is a second."""
    sources = ("CXL-DMSim (Hong et al.), figure 11",)
    table = validation_points.figures_table("CXL-DMSim figure 11: STREAM over DDR-L", MAKES[0], sources)
    return validation_points.report([table])
