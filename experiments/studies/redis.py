"""Redis on DRAM, on CXL memory, and interleaved: throughput and latency of reads, with intervals over seeds.

YCSB-C, uniform keys, eight connections, on 8468v-asic. Only the server's pages are placed. Each seed has its
own records, requests and stack. A change is real if its interval does not hold zero.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.measures import REDIS_YCSB, RedisYcsb, Seeds
from experiments.report import Figures

SUBJECT = workloads.subject(REDIS_YCSB)
MACHINE = "8468v-asic"
PLACEMENTS = {"all CXL": workloads.share(100), "interleaved 1:1": ("--interleave", "dram,cxl")}
MEASURES: dict[str, Callable[[RedisYcsb], Seeds]] = {
    "throughput": lambda of: of.throughput,
    "mean latency": lambda of: of.latency_mean,
    "p50": lambda of: of.latency_p50,
    "p99": lambda of: of.latency_p99,
}


def measure(asked: Asked) -> Report:
    """Each placement over all in DRAM; quick: all on CXL alone."""
    runs = workloads.Runs(asked, REDIS_YCSB, MACHINE, {"workload": "c", "distribution": "uniform"})
    dram = runs.measure(workloads.share(0))
    rows = []
    for name, options in list(PLACEMENTS.items())[: 1 if asked.quick else None]:
        found = runs.measure(options)
        rows += [
            workloads.row(f"{label}, {name}", None, measured(found), measured(dram))
            for label, measured in MEASURES.items()
        ]
    notes = [f"all DRAM: {mean(dram.throughput):,.0f} requests/s, p99 {mean(dram.latency_p99):.1f} us"]
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    return Report([Figures("Redis, YCSB-C, over all in DRAM", rows)], notes)
