"""EuroSys'24 (Tang et al.), figure 5a: throughput of a store under YCSB, interleaved over CXL memory.

Debian's Redis stands for KeyDB, whose seven threads each run Redis' event loop: one of them runs here. Each
record has 1 KB, and keys follow YCSB's Zipfian law. The machine has the paper's A1000 cards and SNC mode; the
paper has SNC off. The text prints one range for all interleavings and workloads: 1.2 to 1.5 times slower.
"""

from __future__ import annotations

from functools import partial
from statistics import mean

from cxlab import figure

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.measures import REDIS_YCSB
from experiments.report import Figures, Row

SUBJECT = workloads.subject(REDIS_YCSB)
MAKES = ("eurosys24/fig5",)
MACHINE = "spr-a1000"
#: Name of the paper -> share of pages on CXL memory [%].
INTERLEAVED = {"3:1": 25, "1:1": 50, "1:3": 75}
#: 1.5 and 1.2 times slower, as changes of throughput [%].
SLOWEST, FASTEST = 100 / 1.5 - 100, 100 / 1.2 - 100


def measure(asked: Asked) -> Report:
    """Each interleaving of each workload; quick: one of one."""
    rows: list[Row] = []
    notes = []
    for name in ("c",) if asked.quick else ("c", "a"):
        runs = workloads.Runs(asked, REDIS_YCSB, MACHINE, {"workload": name})
        alone = runs.measure(workloads.share(0)).throughput
        notes.append(f"YCSB-{name.upper()} on main memory: {mean(alone):,.0f} requests/s")
        for label, percent in list(INTERLEAVED.items())[2 if asked.quick else 0 :]:
            found = runs.measure(workloads.share(percent)).throughput
            what = f"YCSB-{name.upper()}, {label}"
            rows.append(workloads.row(what, SLOWEST, found, alone, paper_to=FASTEST, rank=f"YCSB-{name}"))
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("EuroSys'24 figure 5a: throughput over all in main memory", rows, MAKES[0])
    draw = partial(figure.bars, title="YCSB, interleaved", y="over main memory [%]", pairs=table.pairs())
    return Report([table], notes, draw)
