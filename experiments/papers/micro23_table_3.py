"""MICRO'23 (Sun et al.), table 3: DLRM on one SNC node and on four, with all pages on DDR or on CXL memory.

Eight threads of a real embedding reduction run on SNC-0. Its lines of CXL memory are in all of the LLC, those
of its DDR in a quarter. On four nodes, eight threads of each other node gather from a table in their own DDR
meanwhile. Only SNC-0 is counted, as in the paper, and all is over DDR on one node. Tables are as large as
MERCI's own data set dblp, and caches are warm.
"""

from __future__ import annotations

from functools import partial
from statistics import mean

from cxlab import figure, model

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.measures import EMBEDDING
from experiments.report import Figures

SUBJECT = workloads.subject(EMBEDDING)
MAKES = ("micro23/table3",)
MACHINE = "6430-cxl-a-four-snc"
#: Threads of an SNC node, one a core.
THREADS = 8
#: DDR of the other three SNC nodes.
OTHERS = ("dram-1", "dram-2", "dram-3")
#: Throughput over DDR on one node [%].
CXL_ON_ONE, DDR_ON_FOUR, CXL_ON_FOUR = -5.3, 0.0, -49.6


def measure(asked: Asked) -> Report:
    """All four cells; quick: without DDR on four nodes, which is as one node's."""
    runs = workloads.Runs(asked, EMBEDDING, MACHINE, size="dblp")
    # Linux numbers the nodes in the machine's order.
    nodes = [node.name for node in model.describe(MACHINE).nodes]
    others = ",".join(str(nodes.index(name)) for name in OTHERS)
    one: dict[str, str | int] = {"threads": THREADS}
    four: dict[str, str | int] = {"threads": 4 * THREADS, "beside": others}
    alone = runs.measure(workloads.share(0), **one).throughput
    cells = [
        ("one SNC node, CXL 100 %", CXL_ON_ONE, 100, one),
        ("four SNC nodes, CXL 100 %", CXL_ON_FOUR, 100, four),
    ]
    if not asked.quick:
        cells.append(("four SNC nodes, DDR 100 %", DDR_ON_FOUR, 0, four))
    rows = [
        workloads.row(
            what, paper, runs.measure(workloads.share(share), **given).throughput, alone, rank="DLRM"
        )
        for what, paper, share, given in cells
    ]
    notes = [f"one SNC node, DDR 100 %: {mean(alone):,.0f} queries/s"]
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("MICRO'23 table 3: SNC-0's throughput over DDR on one node", rows, MAKES[0])
    draw = partial(figure.bars, title="DLRM on SNC nodes", y="over DDR on one node [%]", pairs=table.pairs())
    return Report([table], notes, draw)
