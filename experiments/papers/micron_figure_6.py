"""Micron and AMD (Petrucci et al.), figure 6: TPC-H on one drive, with and without CXL memory.

One stream with 64 GB modules and one NVMe drive, whose bandwidth limits it: `experiments/capacity.py` says
what stands for the testbed. Eight streams gain 500 % in the text; DuckDB has too little memory for them.
"""

from __future__ import annotations

from experiments import capacity
from experiments.capacity import Testbed
from experiments.experiment import Asked, Report

SUBJECT = capacity.SUBJECT
MAKES = ("micron/fig6",)
TESTBED = Testbed(MAKES[0], ddr=768, drives=1, speed=70.0)


def measure(asked: Asked) -> Report:
    """One stream, with DDR alone and with CXL memory too."""
    return TESTBED.measure(asked)
