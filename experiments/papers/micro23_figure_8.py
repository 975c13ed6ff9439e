"""MICRO'23 (Sun et al.), figure 8: p99 of FIO with the page cache on CXL memory, by block size.

fio of Debian reads a file by its Zipfian law. Reads before the measured ones fill the page cache until it
answers about as many reads as the paper's: 76 %. The paper's cache of 4 GB is full, and each miss evicts
a page too. Here the cache still grows. The file is on the machine's drive (`--disk`), which serves a miss
in 85 us.
"""

from __future__ import annotations

from functools import partial
from statistics import mean

from cxlab import figure

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.measures import FIO_PAGE_CACHE
from experiments.report import Figures, Row

SUBJECT = workloads.subject(FIO_PAGE_CACHE)
MAKES = ("micro23/fig8",)
MACHINE = "6430-cxl-a-snc4"
#: Block size [KiB] -> change of p99 [%], and reads before the measured ones: whole, quick.
P99 = {4: (3.0, 13_000, 3_800), 8: (4.5, 7_300, 2_050)}


def measure(asked: Asked) -> Report:
    """Both block sizes; quick: a small file."""
    rows: list[Row] = []
    notes = []
    for block_kib, (paper, primed, quick_primed) in P99.items():
        values = {"block_kib": block_kib, "advice": 1, "primed": quick_primed if asked.quick else primed}
        runs = workloads.Runs(asked, FIO_PAGE_CACHE, MACHINE, values)
        dram, cxl = (runs.measure(workloads.bound(node)) for node in ("dram", "cxl"))
        for percentile, figures, new, old in (
            ("p99", paper, cxl.latency_p99, dram.latency_p99),
            ("p50", None, cxl.latency_p50, dram.latency_p50),
        ):
            what = f"{percentile}, blocks of {block_kib} KiB"
            rows.append(workloads.row(what, figures, new, old, rank=percentile))
        tail, hits = mean(dram.latency_p99), mean(dram.hits)
        notes.append(f"{block_kib} KiB: p99 {tail:.1f} us, {hits:.0f} % of reads hit")
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("MICRO'23 figure 8: FIO, page cache on CXL over DDR", rows, MAKES[0])
    draw = partial(figure.bars, title="FIO", y="over DDR [%]", pairs=table.pairs())
    return Report([table], notes, draw)
