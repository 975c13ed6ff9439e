"""The spread over seeds, and JSON on standard output."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from cxlab.bench.sweep import Spread
from cxlab.run.options.placement import beyond_this_host

BENCH = [sys.executable, "-m", "cxlab", "bench", "latency", "--machine", "8468v-asic", "--node", "cxl"]


def test_a_spread_is_mean_least_and_most() -> None:
    assert Spread.of([3.0, 1.0, 5.0]) == Spread(3.0, 1.0, 5.0)
    assert str(Spread.of([3.0, 1.0, 5.0])) == "3.0 (1.0 to 5.0)"


def test_seeds_give_the_first_ones_points_and_how_far_the_others_are() -> None:
    def run(*options: str) -> tuple[dict[str, object], str]:
        done = subprocess.run([*BENCH, *options, "--json", "-"], capture_output=True, text=True, check=True)
        (point,) = json.loads(done.stdout)["points"]
        return point, done.stderr

    alone, said = run()
    assert "seed 1" in said and "--seeds N" in said and "spread" not in alone
    several, said = run("--seeds", "4")
    assert "mean over 4 seeds (least to most)" in said
    # The table of stages is the first seed's, in the order of a load's way.
    assert "ns (seed 1)" in said
    places = [said.index(f"│ {stage} ") for stage in ("to_home", "home_to_memory", "media", "from_home")]
    assert places == sorted(places)
    spread = several.pop("spread")
    assert several == alone
    assert isinstance(spread, dict)
    latency = spread["latency_ns"]
    assert latency["low"] < latency["mean"] < latency["high"]
    assert latency["low"] <= float(str(alone["latency_ns"])) <= latency["high"]


def test_this_host_has_no_seeds() -> None:
    done = subprocess.run(
        [*BENCH[:5], "--host", "--node", "0", "--seeds", "2"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "--seeds" in done.stderr


@pytest.mark.parametrize(("sizes", "said"), [((4 << 30, 60 << 30), "64G"), ((2 << 30, 22 << 30), None)])
def test_nodes_beyond_this_host_are_said(sizes: tuple[int, ...], said: str | None) -> None:
    warning = beyond_this_host(sizes, 24 << 30)
    assert warning is None if said is None else warning is not None and said in warning
