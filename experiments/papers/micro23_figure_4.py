"""MICRO'23 (Sun et al.), figure 4: efficiency of sequential bandwidth, by mix and by instruction.

The bars are rows of validation/points.toml that the text prints a number for. Half a minute in all.
"""

from __future__ import annotations

from experiments import validation_points
from experiments.experiment import Asked, Report, synthetic

SUBJECT = synthetic("the bench's load threads stand for Intel MLC and memo")
MAKES = ("micro23/fig4",)


def measure(asked: Asked) -> Report:
    """Panel a, mixes; panel b, instructions. Quick is the same: a point is a second."""
    sources = ("MICRO'23 (Sun et al.), figure 4",)
    table = validation_points.figures_table("MICRO'23 figure 4: efficiency", MAKES[0], sources)
    return validation_points.report([table])
