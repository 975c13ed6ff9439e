"""MICRO'23 (Sun et al.), figure 6: p99 of Redis over the share of CXL memory, and of a social network.

Panel a: Debian's Redis under YCSB-A on the testbed in SNC mode, with two DDR5 channels beside CXL-A. As in
the paper, keys are uniform and only the server's pages are placed. Eight connections send at the paper's
target rates. The paper's client and network are not here. Its latencies include them, so its changes are
smaller where the load is low.

Panels b to d: nginx, a logic, memcached and Redis stand for DeathStarBench. As in the paper, caching and
storage are on DDR or on CXL memory, and the rest is on DDR. The text prints no number for a bar. It says
that p99 differs little, which Redis' does not, and which requests take the most bandwidth. Loads are about
two thirds of what the logic can do on DDR.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from statistics import mean

from cxlab import figure

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.measures import REDIS_YCSB, SOCIAL_NETWORK
from experiments.report import Figures, Row

SUBJECT = workloads.subject(REDIS_YCSB, SOCIAL_NETWORK)
MAKES = ("micro23/fig6",)
MACHINE = "6430-cxl-a-snc4"
#: Target rate [requests/s], then share of pages on CXL memory -> change of p99 [%].
P99 = {
    85_000: {25: 9.0, 50: 23.0, 75: 45.0, 100: 105.0},
    45_000: {100: 73.0},
    25_000: {100: 10.0},
}
#: Requests of the social network, and their rate here [requests/s].
RATES = {"compose": 1_000, "user": 1_500, "mixed": 1_300}
#: Which take the most bandwidth at their highest throughput: the paper's take 32, 10 and 7 GB/s.
MOST_BANDWIDTH = ("mixed", "user", "compose")
AGAINST_REDIS = "p99"


def measure(asked: Asked) -> Report:
    """All panels; quick: Redis at the highest rate, all on CXL memory, and the mixed requests."""
    notes: list[str] = []
    redis = _redis(asked, notes)
    whole = [row for (_, percent), row in redis.items() if percent == 100]
    network = [replace(row, paper=None, rank=AGAINST_REDIS, place=1) for row in whole]
    network += _social_network(asked, notes)
    tables = [
        Figures("MICRO'23 figure 6a: Redis, YCSB-A, p99", list(redis.values()), MAKES[0]),
        Figures("MICRO'23 figures 6b to 6d: a social network, p99", network, MAKES[0]),
    ]
    if not asked.quick:
        tables.append(Figures("MICRO'23 section 5.1: most bandwidth", _bandwidths(asked), MAKES[0]))
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    pairs = [*tables[0].pairs(), *tables[1].pairs()[len(whole) :]]
    draw = partial(figure.bars, title="Redis and a social network", y="p99 over DDR alone [%]", pairs=pairs)
    return Report(tables, notes, draw)


def _redis(asked: Asked, notes: list[str]) -> dict[tuple[int, int], Row]:
    """Panel a: rows by rate [requests/s] and share of pages on CXL memory [%]."""
    runs = workloads.Runs(asked, REDIS_YCSB, MACHINE, {"workload": "a", "distribution": "uniform"})
    rows = {}
    for rate, shares in list(P99.items())[: 1 if asked.quick else None]:
        alone = runs.measure(workloads.share(0), rate=rate).latency_p99
        notes.append(f"Redis' p99 on DDR at {rate:,} requests/s: {mean(alone):.1f} us")
        for percent, paper in shares.items():
            if asked.quick and percent < 100:
                continue
            tail = runs.measure(workloads.share(percent), rate=rate).latency_p99
            what = f"Redis at {rate:,}/s, {percent} % on CXL"
            rows[rate, percent] = workloads.row(what, paper, tail, alone, rank=f"p99 at {rate}")
    return rows


def _social_network(asked: Asked, notes: list[str]) -> list[Row]:
    """Panels b to d: they differ less than Redis does at any load."""
    rows = []
    for mix, rate in RATES.items():
        if asked.quick and mix != "mixed":
            continue
        runs = workloads.Runs(asked, SOCIAL_NETWORK, MACHINE, {"mix": mix, "rate": rate})
        alone, tail = (runs.measure(workloads.share(percent)).latency_p99 for percent in (0, 100))
        notes.append(f"{mix} requests' p99 on DDR at {rate:,} requests/s: {mean(alone) / 1e3:.2f} ms")
        what = f"{mix} requests at {rate:,}/s, 100 % on CXL"
        rows.append(workloads.row(what, None, tail, alone, rank=AGAINST_REDIS, place=2))
    return rows


def _bandwidths(asked: Asked) -> list[Row]:
    """Which requests take the most, as many as the logic answers: the paper has many more cores."""
    rows = []
    for place, mix in enumerate(MOST_BANDWIDTH, 1):
        runs = workloads.Runs(asked, SOCIAL_NETWORK, MACHINE, {"mix": mix})
        taken = mean(run.bandwidth_gb_s for run in runs.models(workloads.share(0)))
        rows.append(Row(f"{mix} requests", None, taken, "GB/s", rank="bandwidth", place=place))
    return rows
