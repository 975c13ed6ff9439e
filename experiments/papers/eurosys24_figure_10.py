"""EuroSys'24 (Tang et al.), figure 10a: LLM inference interleaved over CXL memory.

llama.cpp runs on two channels of DDR5 and an A1000, as one process of 24 threads. From main memory they read
no more than 12 threads do, and from both memories at 3:1 they read more. So memory limits them, as it does
the paper's 60 threads of five processes. The model is a part of the paper's 7B: all of it is read once a
token, and nothing of it stays in a cache.
"""

from __future__ import annotations

from functools import partial
from statistics import mean

from cxlab import figure

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.measures import LLAMA_DECODE
from experiments.report import Figures, Row

SUBJECT = workloads.subject(LLAMA_DECODE)
MAKES = ("eurosys24/fig10",)
MACHINE = "spr-a1000"
THREADS = 24
#: Name: share of pages on CXL memory, change over main memory alone [%], place in the paper's order.
#: Main memory alone is 14 % slower than 1:3.
INTERLEAVED = {"3:1": (25, 95.0, 1), "1:1": (50, None, 2), "1:3": (75, 100 / 0.86 - 100, 3)}
QUICK = ("3:1", "1:3")


def measure(asked: Asked) -> Report:
    """Each interleaving over main memory; quick: the first and the last."""
    runs = workloads.Runs(asked, LLAMA_DECODE, MACHINE, {"threads": THREADS})
    alone = runs.measure(workloads.share(0))
    rows = [Row("main memory alone", None, 0.0, rank="order", place=4)]
    for label in QUICK if asked.quick else INTERLEAVED:
        percent, paper, place = INTERLEAVED[label]
        found = runs.measure(workloads.share(percent)).tokens_per_second
        rate = alone.tokens_per_second
        rows.append(workloads.row(f"{label} over main memory", paper, found, rate, rank="order", place=place))
    notes = [
        f"main memory alone: {mean(alone.read):.1f} GB/s are read",
        "The paper's 95 % is more than both memories' bandwidths give together: at 3:1 at most a third more. "
        "On silicon main memory loses throughput past its knee. Here requests only queue (MOD-14).",
    ]
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("EuroSys'24 figure 10a: tokens a second over main memory", rows, MAKES[0])
    draw = partial(figure.bars, title="LLM inference", y="over main memory [%]", pairs=table.pairs())
    return Report([table], notes, draw)
