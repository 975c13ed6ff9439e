"""MICRO'23 (Sun et al.), figures 9b and 6a: Redis, YCSB-A: throughput, and p99 at high load.

The store is one thread; requests arrive at random (open loop), at high load at the paper's 85 K a second. The
latency is the server's alone; the paper's includes the client and its network, so its changes are smaller
where the load is low.
"""

from __future__ import annotations

from functools import partial

from cxlab import figure
from cxlab.place.request import Application, Share, Study
from cxlab.place.study import run

from experiments.experiment import Asked, Report, synthetic
from experiments.report import Figures, Row, change

SUBJECT = synthetic("one thread with Redis' law of access and time of a request, YCSB-A uniform")
MAKES = ("micro23/fig9", "micro23/fig6")
SHARES, QUICK_SHARES = (0, 25, 50, 75, 100), (0, 100)
#: Measured simulated time: back to back, and at the rate of high load.
TIMES, QUICK_TIMES = ("40 ms", "200 ms"), ("5 ms", "20 ms")
THROUGHPUT = {25: -8.0, 50: -15.0, 75: -22.0, 100: -30.0}
P99 = {25: 9.0, 50: 23.0, 75: 45.0, 100: 105.0}
#: Requests a second of the paper's high load.
RATE = 85_000.0


def measure(asked: Asked) -> Report:
    """Throughput back to back, then latencies at the rate of high load."""
    shares = QUICK_SHARES if asked.quick else SHARES
    closed_time, busy_time = QUICK_TIMES if asked.quick else TIMES
    store = Application.of("store-a-uniform")
    closed = run([Study([store], Share(share), warm="1 ms", measure=closed_time) for share in shares])
    busy = run([Study([store.at(RATE)], Share(share), warm="1 ms", measure=busy_time) for share in shares])
    work, tails = [], []
    for share, outcome in list(zip(shares, closed, strict=True))[1:]:
        gain = change(outcome.work, closed[0].work)
        work.append(Row(f"throughput, {share} % on CXL", THROUGHPUT[share], gain, rank="throughput"))
    for share, outcome in list(zip(shares, busy, strict=True))[1:]:
        gain = change(outcome.p99_us, busy[0].p99_us)
        tails.append(Row(f"p99 at high load, {share} % on CXL", P99[share], gain, rank="p99"))
    tables = [
        Figures("MICRO'23 figure 9b: Redis, YCSB-A, throughput", work, "micro23/fig9"),
        Figures("MICRO'23 figure 6a: Redis, YCSB-A, p99", tails, "micro23/fig6"),
    ]
    notes = [
        f"on DDR: {closed[0].work:,.0f} requests/s; high load {RATE:,.0f}/s, p99 {busy[0].p99_us:.1f} us"
    ]
    pairs = [pair for table in tables for pair in table.pairs()]
    draw = partial(figure.bars, title="Redis, YCSB-A", y="over DDR alone [%]", pairs=pairs)
    return Report(tables, notes, draw)
