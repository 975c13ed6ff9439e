"""Micron and AMD (Petrucci et al.), figure 8: which number of streams is best, 64 GB modules.

DDR alone is best with eight streams, and slower with twenty. With CXL memory sixteen are best, with 2.3 times
the speed of DDR's eight. `experiments/streams.py` says what stands for the testbed.
"""

from __future__ import annotations

from experiments import streams
from experiments.experiment import Asked, Report
from experiments.streams import Bed, Server

SUBJECT = streams.SUBJECT
MAKES = ("micron/fig8",)
DDR, BOTH = Server(768), Server(768, cxl=True)
#: Best of DDR, best of both, and beyond DDR's best.
FEW, BEST, MANY = 8, 16, 20


def measure(asked: Asked) -> Report:
    """Speeds of both memories by the number of streams; quick: the best alone, and half as many streams."""
    bed = Bed(asked, drives=8)
    few, best = bed.run(DDR, FEW), bed.run(BOTH, BEST)
    rows = [streams.over(f"{best.streams} streams with CXL over {few.streams} without", 130.0, best, few)]
    if not asked.quick:
        many, both = bed.run(DDR, MANY), bed.run(BOTH, FEW)
        rows += streams.in_order("DDR", [few, many])
        rows += streams.in_order("with CXL", [best, both])
    return bed.report(MAKES[0], rows)
