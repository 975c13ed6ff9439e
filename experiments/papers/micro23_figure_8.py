"""MICRO'23 (Sun et al.), figure 8: p99 of FIO's reads with the page cache on DDR and on CXL memory.

Debian's fio and Linux's page cache. A read that the cache does not answer takes 80 us at the drive. As in the
paper, blocks follow a Zipfian law, and the share of hits at 8 KiB is near its 76 %. The file is 64 MiB; the
paper's cache alone is 4 GB. Nothing is evicted: reads before the region of detail fill the cache.
"""

from __future__ import annotations

from functools import partial
from statistics import mean

from cxlab import figure

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.report import Figures

SUBJECT = workloads.subject("fio-page-cache")
MAKES = ("micro23/fig8",)
MACHINE = "6430-cxl-a-snc4"
#: Size of a read [KiB] -> change of p99 on CXL memory [%]; the text prints no other.
P99 = {4: 3.0, 8: 4.5}


def measure(asked: Asked) -> Report:
    """Both placements, each block size."""
    runs = workloads.Runs(asked, "fio-page-cache", MACHINE)
    rows, notes = [], []
    for block, paper in list(P99.items())[: 1 if asked.quick else None]:
        dram, cxl = (runs.measure(workloads.share(percent), block_kib=block) for percent in (0, 100))
        for name, expected in (("p99", paper), ("p50", None), ("mean", None)):
            key = f"latency_{name}"
            rows.append(workloads.row(f"{name}, {block} KiB", expected, cxl[key], dram[key]))
        notes.append(
            f"{block} KiB on DDR: p50 {mean(dram['latency_p50']):.1f} us, "
            f"p99 {mean(dram['latency_p99']):.1f} us, {mean(dram['hits']):.0f} % hits"
        )
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("MICRO'23 figure 8: FIO, page cache on CXL over DDR", rows, MAKES[0])
    draw = partial(figure.bars, title="FIO", y="over DDR [%]", pairs=table.pairs())
    return Report([table], notes, draw)
