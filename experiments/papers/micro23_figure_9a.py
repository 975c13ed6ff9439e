"""MICRO'23 (Sun et al.), figure 9a: throughput of embedding reduction over the share of pages on CXL memory.

Thirty-two threads of a real program run on the testbed in SNC mode, as the paper's do: two DDR5 channels
beside CXL-A. The table is as large as MERCI's own data set dblp, and caches are warm. A quarter of the LLC
holds lines of the SNC node's DDR, all of it lines of CXL memory (the paper's 4.3). So rows on CXL memory find
more of the LLC, until they are more than it holds.
"""

from __future__ import annotations

from functools import partial
from statistics import mean

from cxlab import figure
from cxlab.figure import Line

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.measures import EMBEDDING
from experiments.report import PAGES, Figures, Row

SUBJECT = workloads.subject(EMBEDDING)
MAKES = ("micro23/fig9",)
MACHINE = "6430-cxl-a-snc4"
SHARES, QUICK_SHARES = (0, 20, 33, 50, 63, 75, 100), (0, 50, 63)
THREADS = 32
#: The paper's optimum and its gain over DDR alone, 32 threads [%].
PAPER_SHARE, PAPER_GAIN = 63.0, 88.0


def measure(asked: Asked) -> Report:
    """Sweep and compare."""
    runs = workloads.Runs(asked, EMBEDDING, MACHINE, {"threads": THREADS}, size="dblp")
    found = {
        percent: runs.measure(workloads.share(percent))
        for percent in (QUICK_SHARES if asked.quick else SHARES)
    }
    queries = {percent: measures.throughput for percent, measures in found.items()}
    best = max(queries, key=lambda percent: mean(queries[percent]))
    rows = [
        Row("best share of pages on CXL", PAPER_SHARE, best, PAGES),
        workloads.row("gain of the best share over DDR alone", PAPER_GAIN, queries[best], queries[0]),
    ]
    rows += [
        workloads.row(f"throughput, {percent} % on CXL", None, queries[percent], queries[0])
        for percent in queries
        if percent > 0
    ]
    notes = [f"all on DDR: {mean(found[0].gathered):.1f} GB/s of rows"]
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    curve = Line("embedding", [(share, mean(of) / mean(queries[0])) for share, of in queries.items()])
    draw = partial(
        figure.lines,
        title="static shares",
        x="pages on CXL memory [%]",
        y="throughput over DDR alone",
        curves=[curve],
    )
    return Report([Figures("MICRO'23 figure 9a: embedding reduction", rows, MAKES[0])], notes, draw)
