"""CXL-DMSim (Hong et al.), figure 15a: DLRM inference with half of the pages on DDR-R or on CXL-ASIC.

Eight threads of a real embedding reduction on the testbed's one channel of DDR-L. The paper does not say how
many threads its figure has. Eight ask for more than the channel gives. Table IV has 12 and 48.
"""

from __future__ import annotations

from functools import partial
from statistics import mean

from cxlab import figure

from experiments import machines, workloads
from experiments.experiment import Asked, Report
from experiments.measures import EMBEDDING
from experiments.report import Figures, Row

SUBJECT = workloads.subject(EMBEDDING)
MAKES = ("dmsim/fig15",)
#: The testbed with DDR-L; its DDR-L is the same on both machines.
MACHINE = "8468v-asic"
#: Machine, its second node, and the change of queries a second with half of the pages there [%].
MIXES = ((MACHINE, "cxl", "CXL-ASIC", 16.0), ("8468v-remote", "remote", "DDR-R", 29.0))


def measure(asked: Asked) -> Report:
    """Half on each second memory over DDR-L alone."""
    alone = workloads.Runs(asked, EMBEDDING, machines.testbed(MACHINE)).measure(workloads.share(0))
    rows: list[Row] = []
    for machine, node, label, paper in MIXES[: 1 if asked.quick else None]:
        runs = workloads.Runs(asked, EMBEDDING, machines.testbed(machine))
        half = runs.measure(("--interleave", f"dram,{node}")).throughput
        rows.append(
            workloads.row(f"half on {label} over DDR-L alone", paper, half, alone.throughput, rank="gain")
        )
    notes = [f"DDR-L alone: {mean(alone.throughput):,.0f} queries/s, {mean(alone.gathered):.1f} GB/s of rows"]
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("CXL-DMSim figure 15a: embedding reduction by memory mix", rows, MAKES[0])
    draw = partial(figure.bars, title="DLRM", y="queries a second over DDR-L alone [%]", pairs=table.pairs())
    return Report([table], notes, draw)
