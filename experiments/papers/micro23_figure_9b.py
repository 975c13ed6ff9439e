"""MICRO'23 (Sun et al.), figures 9b and 6a: Redis under YCSB-A, uniform keys: throughput, and p99 at a rate.

Debian's Redis on the testbed in SNC mode: two DDR5 channels beside CXL-A. As in the paper, only the server's
pages are placed. Throughput is with as many requests as the server answers, p99 at the paper's target rates.
The paper's client and network are not here: its latencies include them, so its changes are smaller where
the load is low. About half an hour on a quiet machine of two cores; quick: all on DDR and all on CXL memory.
"""

from __future__ import annotations

from functools import partial

from cxlab import figure

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.report import Figures, Row

SUBJECT = workloads.subject("redis-ycsb")
MAKES = ("micro23/fig9", "micro23/fig6")
MACHINE = "6430-cxl-a-snc4"
THROUGHPUT = {25: -8.0, 50: -15.0, 75: -22.0, 100: -30.0}
#: Target rate [requests/s], then share of pages on CXL memory [%] -> change of p99 [%].
P99 = {
    25_000: {100: 10.0},
    45_000: {100: 73.0},
    85_000: {25: 9.0, 50: 23.0, 75: 45.0, 100: 105.0},
}


def measure(asked: Asked) -> Report:
    """Throughput back to back, then latencies at each rate."""
    runs = workloads.Runs(asked, "redis-ycsb", MACHINE, {"workload": "a", "distribution": "uniform"})

    def of(measure: str, percent: int, rate: int) -> list[float]:
        return runs.measure(workloads.share(percent), rate=rate)[measure]

    def changes(measure: str, rate: int, paper: dict[int, float], label: str) -> list[Row]:
        alone = of(measure, 0, rate)
        shares = [percent for percent in paper if not asked.quick or percent == 100]
        return [
            workloads.row(
                f"{label}, {percent} % on CXL", paper[percent], of(measure, percent, rate), alone, rank=label
            )
            for percent in shares
        ]

    rates = list(P99)[-1:] if asked.quick else P99
    throughput = changes("throughput", 0, THROUGHPUT, "throughput")
    tails = [row for rate in rates for row in changes("latency_p99", rate, P99[rate], f"p99 at {rate:,}/s")]
    tables = [
        Figures("MICRO'23 figure 9b: Redis, YCSB-A, throughput", throughput, "micro23/fig9"),
        Figures("MICRO'23 figure 6a: Redis, YCSB-A, p99", tails, "micro23/fig6"),
    ]
    alone = of("throughput", 0, 0)
    notes = [f"on DDR: {sum(alone) / len(alone):,.0f} requests/s"]
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    pairs = [pair for table in tables for pair in table.pairs()]
    draw = partial(figure.bars, title="Redis, YCSB-A", y="over DDR alone [%]", pairs=pairs)
    return Report(tables, notes, draw)
