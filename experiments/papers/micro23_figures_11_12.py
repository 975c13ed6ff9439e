"""MICRO'23 (Sun et al.), figures 11 and 12a: DLRM's throughput, counters and Caption's estimate over shares.

Twenty-four threads of a real embedding reduction run on the testbed in SNC mode. The paper fitted its
estimator with as many. The table is as large as MERCI's own data set dblp, and caches are warm. The text
prints no number for a point. It says which way the correlations go: throughput grows with the bandwidth,
falls with the latency of L1 misses, and goes with the estimate. The estimate is a linear model of
instructions a cycle, latency of a miss and latency of a DDR read, fitted on the first seed. The latency is
that of misses that go to a memory: those that the LLC answers are left out, although they are many.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import correlation

import numpy as np
from cxlab import figure, model
from cxlab.figure import Line
from cxlab.workload import repeats
from cxlab.workload.written import Ran

from experiments import workloads
from experiments.experiment import Asked, Report, Shown
from experiments.measures import EMBEDDING
from experiments.report import Cell, Column, Figures, Row, Table

SUBJECT = workloads.subject(EMBEDDING)
MAKES = ("micro23/fig11", "micro23/fig12")
MACHINE = "6430-cxl-a-snc4"
THREADS = 24
SHARES, QUICK_SHARES = (0, 10, 20, 25, 33, 50, 67, 75, 100), (0, 10, 20, 33, 50, 75)
#: Share -> a value a seed.
Curve = Mapping[int, list[float]]


def estimated(throughput: Curve, counted: Mapping[int, list[Ran]], tsc_ghz: float) -> Curve:
    """The linear model's output. It is fitted on the first seed's DLRM, as the paper's is on DLRM."""

    def metrics(of: Ran) -> list[float]:
        norm_ipc = of.instructions_per_second / THREADS / (tsc_ghz * 1e9)
        return [1.0, norm_ipc, of.miss_ns(), of.miss_ns("dram")]

    rows = {share: [metrics(of) for of in seeds] for share, seeds in counted.items()}
    first = [throughput[share][0] for share in rows]
    weights = np.linalg.lstsq(np.array([seeds[0] for seeds in rows.values()]), np.array(first), rcond=None)[0]
    return {share: [float(np.dot(weights, row)) for row in seeds] for share, seeds in rows.items()}


def pearson(throughput: Curve, other: Curve) -> repeats.Estimate:
    """Pearson's coefficient over shares, of each seed."""
    shares = sorted(throughput.keys() & other.keys())
    seeds = range(len(throughput[shares[0]]))
    found = [
        correlation([throughput[share][seed] for share in shares], [other[share][seed] for share in shares])
        for seed in seeds
    ]
    return repeats.of_values(found)


def order(what: str, rank: str, place: int, found: repeats.Estimate) -> Row:
    """A coefficient, in the order that the text tells."""
    return Row(what, None, found.value, "r", rank=rank, low=found.low, high=found.high, place=place)


def measure(asked: Asked) -> Report:
    """The sweep; quick: six shares."""
    runs = workloads.Runs(asked, EMBEDDING, MACHINE, {"threads": THREADS}, size="dblp")
    shares = QUICK_SHARES if asked.quick else SHARES
    throughput = {share: runs.measure(workloads.share(share)).throughput for share in shares}
    counted = {share: runs.models(workloads.share(share)) for share in shares}
    bandwidth = {share: [of.bandwidth_gb_s for of in seeds] for share, seeds in counted.items()}
    misses = {share: [of.miss_ns() for of in seeds] for share, seeds in counted.items()}
    # A run that is all on CXL memory reads no DDR, so the estimate leaves it out.
    tsc_ghz = model.describe(MACHINE).host.tsc_hz / 1e9
    with_ddr = {share: seeds for share, seeds in counted.items() if share < 100}
    output = estimated(throughput, with_ddr, tsc_ghz)
    none = Row("no correlation", None, 0.0, "r", rank="correlation", place=2)
    of_counters = [
        order("throughput and system bandwidth", none.rank or "", 1, pearson(throughput, bandwidth)),
        none,
        order("throughput and latency of a miss", none.rank or "", 3, pearson(throughput, misses)),
    ]
    of_estimate = [order("throughput and estimate", none.rank or "", 1, pearson(throughput, output)), none]
    cells: list[list[Cell]] = [
        [f"{share} %", throughput[share][0] / throughput[0][0], bandwidth[share][0], misses[share][0]]
        for share in shares
    ]
    columns = (
        Column("on CXL"),
        Column("throughput over DDR", "{:.3f}"),
        Column("bandwidth [GB/s]", "{:.1f}"),
        Column("miss [ns]", "{:.0f}"),
    )
    curve = Line("embedding", [(bandwidth[share][0], throughput[share][0]) for share in shares])
    draw = partial(
        figure.lines,
        title="Throughput over the bandwidth",
        x="system bandwidth [GB/s]",
        y="queries/s",
        curves=[curve],
    )
    tables: list[Shown] = [
        Table("figure 11, the first seed", columns, cells),
        Figures("MICRO'23 figure 11: Pearson's coefficients", of_counters, MAKES[0]),
        Figures("MICRO'23 figure 12a: Pearson's coefficient of the estimate", of_estimate, MAKES[1]),
    ]
    return Report(tables, [workloads.QUICK_NOTE] if asked.quick else [], draw)
