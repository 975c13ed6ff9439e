"""Micron and AMD (Petrucci et al.), figure 7: TPC-H on eight drives, 64 GB modules.

One stream, with and without CXL memory: `experiments/capacity.py` says what stands for the testbed. The
text has numbers for eight and twenty streams, too; DuckDB has too little memory for them.
"""

from __future__ import annotations

from experiments import capacity
from experiments.capacity import Testbed
from experiments.experiment import Asked, Report

SUBJECT = capacity.SUBJECT
MAKES = ("micron/fig7",)
TESTBED = Testbed(MAKES[0], ddr=768, drives=8, speed=23.0, transactions=-44.0, footprint=42.0)


def measure(asked: Asked) -> Report:
    """One stream, with DDR alone and with CXL memory too."""
    return TESTBED.measure(asked)
