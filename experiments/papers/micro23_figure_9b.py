"""MICRO'23 (Sun et al.), figure 9b: throughput of Redis under YCSB-A over the share of pages on CXL memory.

Debian's Redis on the testbed in SNC mode: two DDR5 channels beside CXL-A. As in the paper, keys are uniform
and only the server's pages are placed. The server always has eight requests to answer. The paper prints no
size of its data. Here they have 1.3 GB, so that page tables leave L2, as those of a full server do. Each of
fifteen runs takes five minutes.
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
MAKES = ("micro23/fig9",)
MACHINE = "6430-cxl-a-snc4"
#: Share of pages on CXL memory -> change of throughput [%].
THROUGHPUT = {25: -8.0, 50: -15.0, 75: -22.0, 100: -30.0}

#: Records of the whole figure.
RECORDS = 600_000


def measure(asked: Asked) -> Report:
    """Each share over all on DDR; quick: all on CXL memory alone."""
    values: dict[str, str | int] = {"workload": "a", "distribution": "uniform"}
    if not asked.quick:
        values["records"] = RECORDS
    runs = workloads.Runs(asked, REDIS_YCSB, MACHINE, values)
    alone = runs.measure(workloads.share(0)).throughput
    shares = [percent for percent in THROUGHPUT if not asked.quick or percent == 100]
    rows = [
        workloads.row(
            f"throughput, {percent} % on CXL",
            THROUGHPUT[percent],
            runs.measure(workloads.share(percent)).throughput,
            alone,
            rank="throughput",
        )
        for percent in shares
    ]
    notes = [f"on DDR: {mean(alone):,.0f} requests/s"]
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("MICRO'23 figure 9b: Redis, YCSB-A, throughput", rows, MAKES[0])
    draw = partial(figure.bars, title="Redis, YCSB-A", y="over DDR alone [%]", pairs=table.pairs())
    return Report([table], notes, draw)
