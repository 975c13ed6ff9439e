"""Micron and AMD (Petrucci et al.), figure 7: TPC-H on eight drives, 64 GB modules.

One stream is DuckDB's, several are PostgreSQL's, with and without CXL memory. What stands for the testbed is
told in `experiments/capacity.py` and `experiments/streams.py`.
"""

from __future__ import annotations

from experiments import streams
from experiments.capacity import Testbed
from experiments.experiment import Asked, Report
from experiments.streams import Gain

SUBJECT = streams.SUBJECT_BESIDE_ONE
MAKES = ("micron/fig7",)
TESTBED = Testbed(MAKES[0], ddr=768, drives=8, speed=23.0, transactions=-44.0, footprint=42.0)
#: Of several streams, by their number.
GAINS = {8: Gain(speed=96.0, transactions=-88.0), 20: Gain(speed=222.0, transactions=-89.0)}


def measure(asked: Asked) -> Report:
    """One stream, eight and twenty, with DDR alone and with CXL memory too; quick: one stream."""
    return streams.beside_one(TESTBED, asked, GAINS)
