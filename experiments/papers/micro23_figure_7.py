"""MICRO'23 (Sun et al.), figure 7: Redis under TPP against a static 25 % of its pages on CXL memory.

As in the paper, latencies are taken once a quarter of the pages is left on CXL memory: the run starts
there. DRAM has room for three quarters. Data and time are a thousandth: 32 MiB and milliseconds stand for
32 GB and seconds. Rates of scanning (256 MB/s) and costs of a page are Linux's own.
"""

from __future__ import annotations

from functools import partial

from cxlab import figure
from cxlab.place.request import Application, Share, Study
from cxlab.place.study import run

from experiments.experiment import Asked, Report, synthetic
from experiments.report import PAGES, Figures, Row, change

SUBJECT = synthetic("one thread with Redis' law of access and time of a request, YCSB-A uniform")
MAKES = ("micro23/fig7",)
PAPER = 174.0
#: Requests a second of the paper's high load (figure 6a).
RATE = 85_000.0
#: Warm-up (two passes of the scan are 62 ms of marks on a quarter) and measured simulated time.
TIMES, QUICK_TIMES = ("260 ms", "200 ms"), ("20 ms", "20 ms")


def measure(asked: Asked) -> Report:
    """Both runs, and where the time of TPP's goes."""
    warm, counted = QUICK_TIMES if asked.quick else TIMES
    store = Application.of("store-a-uniform").at(RATE)
    # Room for three quarters, and the frames that TPP keeps free (2 % and the high watermark).
    frames = store.pages * 3 // 4 + store.pages * 3 // 200 + 24
    static, tpp = run(
        [
            Study([store], Share(25), warm="1 ms", measure=counted),
            Study([store], Share(25), tiering="tpp", fast_frames=frames, warm=warm, measure=counted),
        ]
    )
    table = Figures(
        "MICRO'23 figure 7: TPP against static placement",
        [
            Row("p99 under TPP over static 25 %", PAPER, change(tpp.p99_us, static.p99_us)),
            Row("pages on CXL under TPP, at the end", 25.0, 100 * tpp.cxl_share, PAGES),
        ],
        MAKES[0],
    )
    notes = [
        f"p99: static {static.p99_us:.1f} us, TPP {tpp.p99_us:.1f} us, at {RATE:,.0f} requests/s",
        f"cause: {tpp.count('promotions'):.0f} promotions and {tpp.count('demotions'):.0f} demotions "
        f"({tpp.count('ping_pongs'):.0f} of a page that had been demoted before) in {counted}: "
        f"{tpp.migrated_mb_s():.0f} MB/s of {tpp.traffic_mb_s():.0f} MB/s on the channels are migrations;",
        f"the server's core is in the kernel for {tpp.kernel_share:.1%} of its time: hint faults "
        f"({tpp.count('hint_faults'):.0f}), copies, shoot-downs ({tpp.count('interrupts'):.0f} interrupts). "
        f"A page is away for {tpp.count('migration_ns') / 1e3:.1f} us; requests queue behind that.",
    ]
    draw = partial(figure.bars, title="TPP against static placement", y="[%]", pairs=table.pairs())
    return Report([table], notes, draw)
