"""Bandwidth follows from what is under way at once (Little's law), and never exceeds a channel's peak."""

from __future__ import annotations

from pathlib import Path

import pytest
from guests import Cxlab

LINE = 64
#: Golden Cove's fill buffers (data/hosts/xeon-8468v.toml).
FILL_BUFFERS = 16
#: One channel of DDR5-4800: 4800 MT/s x 8 B [GB/s].
CHANNEL_PEAK = 38.4
LATENCY_NS = {"dram": 130.0, "cxl": 284.5}


@pytest.mark.once_a_week
@pytest.mark.parametrize("node", ["dram", "cxl"])
def test_n_chases_at_once_overlap_up_to_the_fill_buffers(programs: Path, tmp_path: Path, node: str) -> None:
    ran = Cxlab(tmp_path, "marker").run(
        *(str(programs / "streams"), str(128 << 20), "20000", "1", "4", "16", "32"),
        options=["--membind", node, "--no-prefetch"],
    )
    ns = {int(n): float(took) for n, took in map(str.split, ran.stdout.decode().splitlines())}
    latency = LATENCY_NS[node]
    assert ns[1] == pytest.approx(latency, rel=0.03)
    assert ns[4] == pytest.approx(latency / 4, rel=0.05)
    # A load that meets a refresh is late (tRFC of each tREFI); the reorder buffer holds the others behind it.
    assert latency / FILL_BUFFERS * 0.97 <= ns[16] <= latency / FILL_BUFFERS * 1.12
    # Beyond the fill buffers nothing more overlaps.
    assert ns[32] == pytest.approx(latency / FILL_BUFFERS, rel=0.05)
    assert LINE / min(ns.values()) <= CHANNEL_PEAK


def test_a_triad_is_faster_than_a_chase_and_slower_than_the_channel(programs: Path, tmp_path: Path) -> None:
    size = 64 << 20
    options = ["--membind", "dram", "--no-prefetch"]
    ran = Cxlab(tmp_path, "marker").run(str(programs / "triad"), str(size), options=options)
    took_ns, error = map(float, ran.stdout.split())
    assert error == 3.0
    node = ran.summary["nodes"]["dram"]
    # Two arrays are read, the third is owned to be written.
    assert node["read_bytes"] == pytest.approx(3 * size, rel=0.02)
    bandwidth = node["bandwidth_mb_s"] / 1e3
    assert LINE / LATENCY_NS["dram"] * 4 < bandwidth <= CHANNEL_PEAK
    reads = node["read_bytes"] / took_ns
    assert reads <= FILL_BUFFERS * LINE / LATENCY_NS["dram"] * 1.02


def test_an_interleaved_stream_is_half_on_each_node(programs: Path, tmp_path: Path) -> None:
    """Linux says where the pages are (numa_maps), the model what was read from where."""
    size = 128 << 20
    ran = Cxlab(tmp_path, "marker").run(
        str(programs / "stream"), str(size), options=["--interleave", "dram,cxl"]
    )
    maps, total = ran.stdout.decode().splitlines()
    assert int(total) == size // LINE
    placed = [int(word.partition("=")[2]) for word in maps.split() if word.startswith(("N0=", "N1="))]
    assert sum(placed) == size // 4096
    # 1:1, but for one page of 2 MiB.
    assert abs(placed[0] - placed[1]) <= 512
    for name, pages in zip(("dram", "cxl"), placed, strict=True):
        assert ran.summary["nodes"][name]["read_bytes"] == pytest.approx(pages * 4096, rel=0.01)
