"""CXL-DMSim (Hong et al.), figure 13: Redis over shares of DDR-L and of DDR-R or CXL-ASIC.

The paper's text prints no number for a bar. It prints their order. DDR-L alone is the fastest, one other
memory alone is the slowest, and a share of DDR-R is faster than the same share of CXL-ASIC. The text does
not name the two YCSB workloads: A and C run here. Only the server's pages are placed.
"""

from __future__ import annotations

from functools import partial
from statistics import mean

from cxlab import figure

from experiments import machines, workloads
from experiments.experiment import Asked, Report
from experiments.measures import REDIS_YCSB
from experiments.report import Figures, Row

SUBJECT = workloads.subject(REDIS_YCSB)
MAKES = ("dmsim/fig13",)
#: Machine with DDR-L; DDR-L is the same on both machines.
MACHINE = "8468v-asic"
#: Machine and second node of each memory beside DDR-L.
MEMORIES = {"DDR-R": ("8468v-remote", "remote"), "CXL-ASIC": (MACHINE, "cxl")}
#: Memory, share of pages on it, place in the paper's order; DDR-L alone has place 1. The text does not say
#: whether half on CXL-ASIC is faster than all on DDR-R. By idle latencies both wait alike: (130 + 284) / 2 ns
#: and 200 ns.
ORDER = (("DDR-R", 50, 2), ("CXL-ASIC", 50, 3), ("DDR-R", 100, 3), ("CXL-ASIC", 100, 4))


def placed(node: str, percent: int) -> workloads.Options:
    """Half of the pages on ``node``, or all."""
    return workloads.bound(node) if percent == 100 else ("--interleave", f"dram,{node}")


def measure(asked: Asked) -> Report:
    """Both workloads; quick: YCSB-C alone."""
    rows: list[Row] = []
    notes = []
    for name in ("c",) if asked.quick else ("a", "c"):
        group = f"YCSB-{name.upper()}"
        values = {"workload": name}
        on_ddr_l = workloads.Runs(asked, REDIS_YCSB, machines.testbed(MACHINE), values)
        alone = on_ddr_l.measure(workloads.bound("dram")).throughput
        notes.append(f"{group} on DDR-L: {mean(alone):,.0f} requests/s")
        rows.append(Row(f"{group}, DDR-L alone", None, 0.0, rank=group, place=1))
        for memory, percent, place in ORDER:
            machine, node = MEMORIES[memory]
            runs = workloads.Runs(asked, REDIS_YCSB, machines.testbed(machine), values)
            found = runs.measure(placed(node, percent)).throughput
            what = f"{group}, {percent} % on {memory}"
            rows.append(workloads.row(what, None, found, alone, rank=group, place=place))
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("CXL-DMSim figure 13: Redis over all on DDR-L", rows, MAKES[0])
    draw = partial(figure.bars, title="Redis", y="queries a second over DDR-L alone [%]", pairs=table.pairs())
    return Report([table], notes, draw)
