"""CXL-DMSim (Hong et al.), figure 15a: DLRM inference with half of the pages on DDR-R or on CXL-ASIC.

A real embedding reduction on the testbed's one channel of DDR-L, with as many rows as MERCI's data set dblp.
The paper does not say how many threads its figure has, and the gain depends on that number. Table IV has 12
and 48 cores. The authors' scripts have 12, 24, 36 and 48. All are run, and the figure's number is that of the
mean of their queries a second. A subset has the same numbers of threads and fewer queries.
"""

from __future__ import annotations

from functools import partial
from statistics import mean

from cxlab import figure

from experiments import machines, workloads
from experiments.experiment import Asked, Report
from experiments.measures import EMBEDDING, Embedding
from experiments.report import Figures

SUBJECT = workloads.subject(EMBEDDING)
MAKES = ("dmsim/fig15",)
#: The testbed with DDR-L; its DDR-L is the same on both machines.
MACHINE = "8468v-asic"
#: Threads of each run, a processor each.
THREADS = (12, 24, 36, 48)
#: Machine, its second node, and the change of queries a second with half of the pages there [%].
MIXES = ((MACHINE, "cxl", "CXL-ASIC", 16.0), ("8468v-remote", "remote", "DDR-R", 29.0))


class Mix:
    """Queries a second by number of threads, for each seed."""

    def __init__(self, asked: Asked, machine: str, placement: workloads.Options) -> None:
        """Run each number of threads."""
        runs = workloads.Runs(asked, EMBEDDING, machines.testbed(machine), size="dblp")
        self.each = {threads: runs.measure(placement, threads=threads) for threads in THREADS}

    @property
    def throughput(self) -> list[float]:
        """The mean over numbers of threads, for each seed [1/s]."""
        return [mean(seed) for seed in zip(*(of.throughput for of in self.each.values()), strict=True)]


def measure(asked: Asked) -> Report:
    """Half on each second memory over DDR-L alone."""
    alone = Mix(asked, MACHINE, workloads.share(0))
    rows, each = [], []
    for machine, node, label, paper in MIXES[: 1 if asked.quick else None]:
        half = Mix(asked, machine, ("--interleave", f"dram,{node}"))
        what = f"half on {label} over DDR-L alone"
        rows.append(workloads.row(what, paper, half.throughput, alone.throughput, rank="gain"))
        for threads, of in half.each.items():
            row = workloads.row(
                f"{what}, {threads} threads", None, of.throughput, alone.each[threads].throughput
            )
            each.append(row)
    notes = [note(threads, of) for threads, of in alone.each.items()]
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("CXL-DMSim figure 15a: embedding reduction by memory mix", rows + each, MAKES[0])
    of_paper = [pair for pair in table.pairs() if pair.paper is not None]
    draw = partial(figure.bars, title="DLRM", y="queries a second over DDR-L alone [%]", pairs=of_paper)
    return Report([table], notes, draw)


def note(threads: int, alone: Embedding) -> str:
    """Queries and rows of so many threads on DDR-L alone."""
    queries, rows = mean(alone.throughput), mean(alone.gathered)
    return f"DDR-L alone, {threads} threads: {queries:,.0f} queries/s, {rows:.1f} GB/s of rows"
