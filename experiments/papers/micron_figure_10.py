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


def measure(asked: Asked) -> Report:
    """Speeds of both memories by the number of streams; quick: DDR alone, and half as many streams."""
    bed = Bed(asked, drives=8)
    few, many = bed.run(DDR, FEW), bed.run(DDR, MANY)
    rows = [streams.over(f"DDR, {many.streams} streams over {few.streams}", 0.0, many, few)]
    if not asked.quick:
        rows += streams.in_order("with CXL", [bed.run(BOTH, BEST), bed.run(BOTH, FEW)])
    return bed.report(MAKES[0], rows)
