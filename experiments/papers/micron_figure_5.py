"""Micron and AMD (Petrucci et al.), figure 5: pipeline slots that stall, and DRAM bandwidth, by workload.

The text prints three numbers and an order. CloverLeaf's kernels, TPC-H and a support vector machine run
on a twelfth of the testbed, all memory on DDR5. A slot stalls if no instruction leaves it. DuckDB stands
for the paper's SQL Server, LIBLINEAR on one thread for Spark's support vector machine.
"""

from __future__ import annotations

from functools import partial
from statistics import mean
from typing import Any

from cxlab import figure, model
from cxlab.description import Description
from cxlab.workload import repeats
from cxlab.workload.written import Ran

from experiments import machines, workloads
from experiments.experiment import Asked, Report
from experiments.measures import DUCKDB_TPCH, EULER, LIBLINEAR_SVM, Program
from experiments.report import PEAK, POINTS, Figures, Row

SUBJECT = workloads.subject(EULER, DUCKDB_TPCH, LIBLINEAR_SVM)
MAKES = ("micron/fig5",)
#: One channel of DDR5-4800 [GB/s]: 4800 MT/s x 8 B.
CHANNEL = 38.4
#: Name, workload, its threads, share of slots that stall [%], share of the DRAM's bandwidth [%].
WORKLOADS: tuple[tuple[str, Program[Any], dict[str, str | int], float | None, float | None], ...] = (
    ("CloverLeaf", EULER, {"threads": 8}, 95.0, None),
    ("TPC-H", DUCKDB_TPCH, {"threads": 8}, 100 / 3, 50.0),
    ("SVM", LIBLINEAR_SVM, {}, None, None),
)


def measure(asked: Asked) -> Report:
    """All three; quick: without TPC-H's larger tables."""
    machine = machines.cz120_slice()
    width = Description(model.describe("9754-cz120").spec).count("host", "core", "dispatch_width")
    stalled, bandwidths = [], []
    for place, (name, workload, values, of_slots, of_peak) in enumerate(WORKLOADS, start=1):
        counted = workloads.Runs(asked, workload, machine, values).models(workloads.share(0))

        def slots(of: Ran) -> float:
            return 100 * (1 - of.ipc / width)

        stall = repeats.of_values([slots(of) for of in counted])
        peak = repeats.of_values([100 * of.bandwidth_gb_s / CHANNEL for of in counted])
        order = place if name != "SVM" else None
        stalled.append(
            Row(
                f"stalled, {name}",
                of_slots,
                stall.value,
                POINTS,
                rank="stalled",
                low=stall.low,
                high=stall.high,
            )
        )
        bandwidths.append(
            Row(
                f"bandwidth, {name}",
                of_peak,
                peak.value,
                PEAK,
                None,
                False,
                "bandwidth",
                peak.low,
                peak.high,
                order,
            )
        )
    notes = [
        f"SVM: no number in the text; stalled: {mean(row.simulated for row in stalled):.0f} % in the mean"
    ]
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    rows = [*stalled, *bandwidths]
    table = Figures("Micron, figure 5: slots that stall, and the channel's bandwidth", rows, MAKES[0])
    draw = partial(figure.bars, title="Workloads", y="[%]", pairs=table.pairs())
    return Report([table], notes, draw)
