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
    """Speeds of both memories by the number of streams; quick: sixteen are many."""
    bed = Bed(asked, drives=8)
    few, best = bed.run(DDR, FEW), bed.run(BOTH, BEST)
    many = bed.run(DDR, BEST if asked.quick else MANY)
    rows = [streams.over(f"{BEST} streams with CXL over {FEW} without", 130.0, best, few)]
    for found, place in ((few, 1), (many, 2)):
        rows.append(streams.in_order(f"DDR, {found.streams} streams over {FEW}", found, few, "DDR", place))
    both = bed.run(BOTH, FEW)
    for found, place in ((best, 1), (both, 2)):
        rows.append(streams.in_order(f"with CXL, {found.streams} over {FEW}", found, both, "with CXL", place))
    return bed.report(MAKES[0], rows)
