"""YCSB's generators of keys: names and shares against YCSB's own constants and Gray's formula."""

from __future__ import annotations

import math
import re
import subprocess
from collections import Counter
from pathlib import Path

from scipy import stats

HEADER = (Path(__file__).resolve().parents[2] / "workloads/ycsb_client/generators.h").read_text()
DRAWS = 100_000
#: YCSB's exponent.
THETA = 0.99


def constant(name: str) -> float:
    found = re.search(rf"#define {name} ([\d.]+)", HEADER)
    assert found is not None
    return float(found[1])


def zeta(items: int) -> float:
    """Sum of i^-theta, by Euler and Maclaurin beyond the first thousand terms."""
    first = 1000
    head = math.fsum(i**-THETA for i in range(1, min(items, first) + 1))
    if items <= first:
        return head

    def primitive(x: float) -> float:
        return x ** (1 - THETA) / (1 - THETA)

    tail = primitive(items) - primitive(first) + (items**-THETA - first**-THETA) / 2
    return head + tail + THETA * (first ** (-THETA - 1) - items ** (-THETA - 1)) / 12


def draw(
    client: Path, distribution: str, records: int, *, inserts: int = 0, seed: int = 1
) -> list[tuple[int, str]]:
    said = subprocess.run(
        [client, "draw", distribution, str(records), str(inserts), str(DRAWS), str(seed)],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return [(int(key), name) for key, name in (line.split() for line in said.splitlines())]


def is_share(count: int, share: float) -> bool:
    """Whether the count is within what chance allows once in a million."""
    return bool(stats.binomtest(count, DRAWS, share).pvalue > 1e-6)


def test_the_constant_of_the_scrambled_generator_is_the_sum_that_it_stands_for() -> None:
    assert math.isclose(zeta(10**10), constant("SCRAMBLED_ZETA"), rel_tol=1e-9)
    assert constant("ZIPFIAN_CONSTANT") == THETA


def test_records_have_the_names_that_ycsb_gives_them(client: Path) -> None:
    # YCSB's first two records, as its documentation of core workloads shows a loaded store.
    names = dict(draw(client, "uniform", 2))
    assert names == {0: "user6284781860667377211", 1: "user8517097267634966620"}


def test_uniform_keys_are_equally_likely(client: Path) -> None:
    counts = Counter(key for key, _ in draw(client, "uniform", 50))
    assert set(counts) == set(range(50))
    assert stats.chisquare(list(counts.values())).pvalue > 1e-6


def test_the_latest_records_are_read_most_often(client: Path) -> None:
    records = 1000
    counts = Counter(records - 1 - key for key, _ in draw(client, "latest", records))
    assert min(counts) == 0 and max(counts) < records
    # Gray's generator gives the first two ranks their exact shares.
    assert is_share(counts[0], 1 / zeta(records))
    assert is_share(counts[1], 2**-THETA / zeta(records))
    # Beyond them it is the integral: its first half of all ranks has this share.
    half = sum(count for rank, count in counts.items() if rank < records // 2)
    assert math.isclose(half / DRAWS, zeta(records // 2) / zeta(records), rel_tol=0.02)


def test_scrambled_keys_are_as_skewed_and_spread_over_all_records(client: Path) -> None:
    records = 100_000
    counts = Counter(key for key, _ in draw(client, "zipfian", records))
    most = counts.most_common(2)
    # The hash puts the hottest of ten thousand million items somewhere, and spreads the rest.
    assert is_share(most[0][1], 1 / zeta(10**10) + (1 - 1 / zeta(10**10)) / records)
    assert is_share(most[1][1], 2**-THETA / zeta(10**10) + 1 / records)
    assert max(counts) < records and len({key // (records // 10) for key in counts}) == 10


def test_expected_inserts_are_not_read_before_they_are_there(client: Path) -> None:
    assert max(key for key, _ in draw(client, "zipfian", 100, inserts=100)) < 100


def test_a_seed_gives_the_same_keys_and_another_gives_others(client: Path) -> None:
    one, again, other = (draw(client, "zipfian", 1000, seed=seed) for seed in (3, 3, 4))
    assert one == again and one != other
