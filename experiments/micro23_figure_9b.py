"""MICRO'23 (Sun et al.), figures 9b and 6a: Redis, YCSB-A: throughput, and p99 at high load.

The store is one thread; requests arrive at random (open loop), at high load at the paper's 85 K a second. The
latency is the server's alone; the paper's includes the client and its network, so its changes are smaller
where the load is low.
"""

from __future__ import annotations

from pathlib import Path

import click
from cxlab.place import plot, report
from cxlab.place.request import Application, Share, Study
from cxlab.place.study import run

SHARES = (0, 25, 50, 75, 100)
THROUGHPUT = {25: -8.0, 50: -15.0, 75: -22.0, 100: -30.0}
P99 = {25: 9.0, 50: 23.0, 75: 45.0, 100: 105.0}
#: Requests a second of the paper's high load.
RATE = 85_000.0


@click.command()
@click.option("--plot", "plot_file", type=click.Path(path_type=Path))
@click.option("--measure", default="200 ms", help="Simulated time that is counted.")
def main(plot_file: Path | None, measure: str) -> None:
    """Throughput back to back, then latencies at the rate of high load."""
    store = Application.of("store-a-uniform")
    closed = run([Study([store], Share(share), warm="1 ms", measure="40 ms") for share in SHARES])
    busy = run([Study([store.at(RATE)], Share(share), warm="1 ms", measure=measure) for share in SHARES])
    rows = []
    for share, outcome in list(zip(SHARES, closed, strict=True))[1:]:
        gain = report.change(outcome.work, closed[0].work)
        rows.append(report.Row(f"throughput, {share} % on CXL", THROUGHPUT[share], gain))
    for share, outcome in list(zip(SHARES, busy, strict=True))[1:]:
        gain = report.change(outcome.p99_us, busy[0].p99_us)
        rows.append(report.Row(f"p99 at high load, {share} % on CXL", P99[share], gain))
    notes = [
        f"on DDR: {closed[0].work:,.0f} requests/s; high load {RATE:,.0f}/s, p99 {busy[0].p99_us:.1f} us"
    ]
    report.show("MICRO'23 figures 9b and 6a: Redis, YCSB-A", rows, notes)
    if plot_file is not None:
        plot.bars(plot_file, "Redis, YCSB-A", "over DDR alone [%]", rows)


if __name__ == "__main__":
    main()
