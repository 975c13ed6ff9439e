"""Micron and AMD (Petrucci et al.), figure 10: which number of streams is best, 96 GB modules.

DDR alone stays as fast as with eight streams. With CXL memory twenty-eight are best.
`experiments/streams.py` says what stands for the testbed.
"""

from __future__ import annotations

from experiments import streams
from experiments.experiment import Asked, Report
from experiments.streams import Bed, Server

SUBJECT = streams.SUBJECT
MAKES = ("micron/fig10",)
DDR, BOTH = Server(1152), Server(1152, cxl=True)
#: Best of DDR, beyond it, and best of both.
FEW, MANY, BEST = 8, 20, 28
#: Many of a subset, for either.
QUICK_MANY = 16


def measure(asked: Asked) -> Report:
    """Speeds of both memories by the number of streams; quick: sixteen are many."""
    bed = Bed(asked, drives=8)
    many, best = (QUICK_MANY, QUICK_MANY) if asked.quick else (MANY, BEST)
    few = bed.run(DDR, FEW)
    rows = [streams.over(f"DDR, {many} streams over {FEW}", 0.0, bed.run(DDR, many), few)]
    both = bed.run(BOTH, FEW)
    for found, place in ((bed.run(BOTH, best), 1), (both, 2)):
        rows.append(streams.in_order(f"with CXL, {found.streams} over {FEW}", found, both, "with CXL", place))
    return bed.report(MAKES[0], rows)
