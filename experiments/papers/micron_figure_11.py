"""Micron and AMD (Petrucci et al.), figure 11: 64 GB modules and CXL memory against 96 GB modules.

Each with its best number of streams: sixteen and eight. `experiments/streams.py` says what stands for the
testbed.
"""

from __future__ import annotations

from experiments import streams
from experiments.experiment import Asked, Report
from experiments.streams import Bed, Server

SUBJECT = streams.SUBJECT
MAKES = ("micron/fig11",)
SMALL_AND_CXL, LARGE = Server(768, cxl=True), Server(1152)


def measure(asked: Asked) -> Report:
    """Either server's best speed; quick: half as many streams."""
    bed = Bed(asked, drives=8)
    small, large = bed.run(SMALL_AND_CXL, 16), bed.run(LARGE, 8)
    what = f"{SMALL_AND_CXL.name}, {small.streams} streams, over {LARGE.name}, {large.streams}"
    return bed.report(MAKES[0], [streams.over(what, 60.0, small, large)])
