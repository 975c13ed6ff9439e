"""EuroSys'24 (Tang et al.), figure 7a: a scan by sixteen executors, interleaved and with hot pages promoted.

Data and time are a thousandth of the paper's: milliseconds stand for seconds. Rates of scanning and costs of
a page are Linux's own. The machine has the eight channels and CXL-A of MICRO'23, not the paper's.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cxlab import figure
from cxlab.place.request import EIGHT_CHANNELS, Application, Share, Study
from cxlab.place.study import run

from experiments.experiment import Asked, Report, synthetic
from experiments.report import Figures, Row, change

SUBJECT = synthetic("a generator with the law of access of Spark's scans")
MAKES = ("eurosys24/fig7",)
#: Size of all partitions [MiB].
SCAN, QUICK_SCAN = 64, 16
EXECUTORS = 16
#: Names of table 1: all in DRAM, and half with promotion of hot pages.
ALL_IN_DRAM, PROMOTED = "MMEM", "Hot-Promote"


def configurations(application: Application, processes: int, warm: str, measure: str) -> dict[str, Study]:
    """Table 1 of the paper."""
    half = application.pages // 2
    plain = Study([application], machine=EIGHT_CHANNELS, processes=processes, warm="200 us", measure=measure)
    return {
        ALL_IN_DRAM: plain,
        "3:1": replace(plain, share=Share(25)),
        "1:1": replace(plain, share=Share(50)),
        "1:3": replace(plain, share=Share(75)),
        # Half of the pages, and the frames that promotions find free.
        PROMOTED: replace(
            plain,
            share=Share(50),
            tiering="numa_balancing",
            fast_frames=half + half // 100 + 64,
            warm=warm,
        ),
    }


def measure(asked: Asked) -> Report:
    """Measure all configurations."""
    scan = Application.of("scan", pages=(QUICK_SCAN if asked.quick else SCAN) * 256)
    studies = configurations(scan, EXECUTORS, "6 ms", "2 ms")
    found = dict(zip(studies, run([*studies.values()]), strict=True))
    # Execution time is longer by more than 34 %, so throughput is lower by more than 25 %.
    rows = [
        Row(f"scan: {name}", -25.0 if name == PROMOTED else None, change(of.work, found[ALL_IN_DRAM].work))
        for name, of in list(found.items())[1:]
    ]
    promoted = found[PROMOTED]
    note = (
        f"{promoted.count('hint_faults'):.0f} hint faults, {promoted.count('candidates'):.0f} hot, "
        f"{promoted.count('promotions'):.0f} promoted, {promoted.count('demotions'):.0f} demoted, "
        f"in the kernel {promoted.kernel_share:.1%}, migrations {promoted.migrated_mb_s():.0f} MB/s"
    )
    table = Figures("EuroSys'24 figure 7a: a scan, throughput over all in DRAM", rows, MAKES[0])
    draw = partial(figure.bars, title="hot promotion", y="throughput over MMEM [%]", pairs=table.pairs())
    return Report([table], [note], draw)
