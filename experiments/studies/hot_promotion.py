"""A store whose hot pages Linux promotes.

Figure 5a of EuroSys'24 (Tang et al.) has it beside the bars that `eurosys24/fig5` makes with programs. Here
128 MiB stand for the paper's 512 GB, and milliseconds for seconds. Rates of scanning and costs of a page are
Linux's own. The machine has the eight channels and CXL-A of MICRO'23, not the paper's. KeyDB has seven
threads.
"""

from __future__ import annotations

from functools import partial

from cxlab import figure
from cxlab.place.request import Application
from cxlab.place.study import run

from experiments.experiment import Asked, Report, synthetic
from experiments.papers.eurosys24_figure_7 import ALL_IN_DRAM, PROMOTED, configurations
from experiments.report import Figures, Row, change

SUBJECT = synthetic("a generator with the law of access of KeyDB (YCSB-C, Zipfian)")
#: Size of the store [MiB], and its warm-up: more than two passes of the scan over half of it.
STORE, QUICK_STORE = (128, "600 ms"), (16, "80 ms")
THREADS = 7
#: "Nearly as well as running the workload entirely on MMEM" [%].
PAPER = {PROMOTED: 0.0}


def measure(asked: Asked) -> Report:
    """With promotion over all in DRAM."""
    mib, warm = QUICK_STORE if asked.quick else STORE
    store = Application.of("store-c-zipfian", threads=THREADS, pages=mib * 256)
    asked_for = configurations(store, 1, warm, "20 ms")
    studies = {name: asked_for[name] for name in (ALL_IN_DRAM, PROMOTED)}
    found = dict(zip(studies, run([*studies.values()]), strict=True))
    rows = [
        Row(
            f"KeyDB, YCSB-C: {name}",
            paper,
            change(found[name].work, found[ALL_IN_DRAM].work),
            rank="throughput",
        )
        for name, paper in PAPER.items()
    ]
    promoted = found[PROMOTED]
    note = (
        f"{promoted.count('hint_faults'):.0f} hint faults, {promoted.count('candidates'):.0f} hot, "
        f"{promoted.count('promotions'):.0f} promoted, {promoted.count('demotions'):.0f} demoted, "
        f"in the kernel {promoted.kernel_share:.1%}, migrations {promoted.migrated_mb_s():.0f} MB/s"
    )
    table = Figures("A store promoted, throughput over all in DRAM", rows)
    draw = partial(figure.bars, title="hot promotion", y="throughput over MMEM [%]", pairs=table.pairs())
    return Report([table], [note], draw)
