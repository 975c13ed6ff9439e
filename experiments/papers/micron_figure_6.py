"""Micron and AMD (Petrucci et al.), figure 6: TPC-H on one drive, with and without CXL memory.

One stream is DuckDB's, several are PostgreSQL's, with and without CXL memory. What stands for the testbed is
told in `experiments/capacity.py` and `experiments/streams.py`. The drive's bandwidth limits either.
"""

from __future__ import annotations

from experiments import streams
from experiments.capacity import Testbed
from experiments.experiment import Asked, Report
from experiments.streams import Gain

SUBJECT = streams.SUBJECT_BESIDE_ONE
MAKES = ("micron/fig6",)
TESTBED = Testbed(MAKES[0], ddr=768, drives=1, speed=70.0)
#: Of several streams, by their number.
GAINS = {8: Gain(speed=500.0)}


def measure(asked: Asked) -> Report:
    """One stream and eight, with DDR alone and with CXL memory too; quick: one stream."""
    return streams.beside_one(TESTBED, asked, GAINS)
