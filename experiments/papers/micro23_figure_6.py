"""MICRO'23 (Sun et al.), figure 6a: p99 of Redis under YCSB-A over the share of pages on CXL memory, by load.

Debian's Redis on the testbed in SNC mode: two DDR5 channels beside CXL-A. As in the paper, keys are uniform
and only the server's pages are placed. Eight connections send at the paper's target rates. The paper's client
and network are not here: its latencies include them, so its changes are smaller where the load is low.
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
MAKES = ("micro23/fig6",)
MACHINE = "6430-cxl-a-snc4"
#: Target rate [requests/s], then share of pages on CXL memory -> change of p99 [%].
P99 = {
    85_000: {25: 9.0, 50: 23.0, 75: 45.0, 100: 105.0},
    45_000: {100: 73.0},
    25_000: {100: 10.0},
}


def measure(asked: Asked) -> Report:
    """Each rate and share over all on DDR; quick: the highest rate, all on CXL memory."""
    runs = workloads.Runs(asked, REDIS_YCSB, MACHINE, {"workload": "a", "distribution": "uniform"})
    rows: list[Row] = []
    notes = []
    for rate, shares in list(P99.items())[: 1 if asked.quick else None]:
        alone = runs.measure(workloads.share(0), rate=rate).latency_p99
        notes.append(f"p99 on DDR at {rate:,} requests/s: {mean(alone):.1f} us")
        for percent, paper in shares.items():
            if asked.quick and percent < 100:
                continue
            tail = runs.measure(workloads.share(percent), rate=rate).latency_p99
            rows.append(
                workloads.row(
                    f"p99 at {rate:,}/s, {percent} % on CXL", paper, tail, alone, rank=f"p99 at {rate}"
                )
            )
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("MICRO'23 figure 6a: Redis, YCSB-A, p99", rows, MAKES[0])
    draw = partial(figure.bars, title="Redis, YCSB-A", y="over DDR alone [%]", pairs=table.pairs())
    return Report([table], notes, draw)
