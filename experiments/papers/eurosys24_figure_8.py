"""EuroSys'24 (Tang et al.), figure 8: a key-value store under YCSB-C, on main memory and on CXL memory.

Debian's Redis stands for KeyDB, whose seven threads each run Redis' event loop: one of them runs here. Each
record has 1 KB, and keys follow YCSB's Zipfian law. The machine has the paper's A1000 cards and SNC mode; the
paper has SNC off for this figure. Linux gives nobody huge pages, as in the paper (4.1.1). Latencies are those
that the client sees with eight connections.
"""

from __future__ import annotations

from functools import partial
from statistics import mean

from cxlab import figure

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.measures import REDIS_YCSB
from experiments.report import Figures

SUBJECT = workloads.subject(REDIS_YCSB)
MAKES = ("eurosys24/fig8",)
MACHINE = "spr-a1000"
THROUGHPUT = -12.5
#: The paper's range over the whole distribution of latencies [%].
LATENCY = (9.0, 27.0)


def measure(asked: Asked) -> Report:
    """Both placements."""
    runs = workloads.Runs(asked, REDIS_YCSB, MACHINE, {"workload": "c"}, options=workloads.NO_HUGE_PAGES)
    dram, cxl = (runs.measure(workloads.share(percent)) for percent in (0, 100))
    rows = [workloads.row("throughput", THROUGHPUT, cxl.throughput, dram.throughput)]
    rows += [
        workloads.row(
            f"latency of a read, {name}",
            LATENCY[0],
            new,
            old,
            paper_to=LATENCY[1],
        )
        for name, new, old in (
            ("p50", cxl.latency_p50, dram.latency_p50),
            ("mean", cxl.latency_mean, dram.latency_mean),
            ("p99", cxl.latency_p99, dram.latency_p99),
        )
    ]
    notes = [f"on main memory: {mean(dram.throughput):,.0f} requests/s"]
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("EuroSys'24 figure 8: YCSB-C, all on CXL over all on main memory", rows, MAKES[0])
    draw = partial(figure.bars, title="YCSB-C on CXL memory", y="over main memory [%]", pairs=table.pairs())
    return Report([table], notes, draw)
