"""A program measures the latencies of the machine's file: a chase through caches and memories.

The program times itself, by clock_gettime and by rdtsc; its set-up, before the marker, runs without detail.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from guests import Cxlab

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
#: Loads for each size; the largest of a cache is followed around once before.
COUNT = 20_000


class Chases:
    """Chases of one run: bytes -> (ns a load by clock_gettime, by rdtsc)."""

    def __init__(
        self, folder: Path, programs: Path, machine: str, node: str, *sizes: int, base_pages: bool = False
    ) -> None:
        ran = Cxlab(folder, "marker").run(
            *(["env", "CHASE_BASE_PAGES=1"] if base_pages else []),
            str(programs / "chase"),
            str(COUNT),
            *map(str, sizes),
            # As the BIOS of CXL-DMSim's testbed has it (IV-B).
            options=["--machine", machine, "--membind", node, "--no-prefetch"],
        )
        assert ran.status == 0, ran.stderr
        self.ns: dict[int, tuple[float, float]] = {}
        for size, clock, tsc in (line.split() for line in ran.stdout.decode().splitlines()):
            # Of one size the shortest counts: a chase in a cache is 80 us, and one in fifty meets a tick of
            # Linux. With other work at hand (RCU, kworkers) that takes 9 to 26 us.
            self.ns[int(size)] = min(self.ns.get(int(size), (float("inf"),) * 2), (float(clock), float(tsc)))
        self.node: dict[str, Any] = ran.summary["nodes"][node]


@pytest.fixture(scope="module")
def dram(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Chases:
    sizes = (16 * KIB, MIB, 32 * MIB, GIB)
    return Chases(tmp_path_factory.mktemp("dram"), programs, "8468v-asic", "dram", *sizes)


@pytest.mark.parametrize(
    ("size", "expected", "tolerance"),
    [
        # Golden Cove, 5 and 15 cycles at 3.8 GHz; the LLC of the same die (data/hosts/xeon-8468v.toml).
        (16 * KIB, 5 / 3.8, 0.02),
        (MIB, 15 / 3.8, 0.02),
        (32 * MIB, 33.0, 0.02),
        # CXL-DMSim, figure 10: DDR-L.
        (GIB, 130.0, 0.03),
    ],
)
def test_plateaus_of_the_caches_and_of_dram(
    dram: Chases, size: int, expected: float, tolerance: float
) -> None:
    assert dram.ns[size] == pytest.approx((expected, expected), rel=tolerance)


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ("8468v-asic", 284.0),
        pytest.param("8468v-fpga", 375.0, marks=pytest.mark.once_a_week),
    ],
)
def test_a_chase_in_cxl_memory(programs: Path, tmp_path: Path, machine: str, expected: float) -> None:
    """CXL-DMSim, figure 10: CXL-ASIC and CXL-FPGA."""
    # More than the LLC has; none of it is cached where the clock starts.
    size = 256 * MIB
    chases = Chases(tmp_path, programs, machine, "cxl", size)
    assert chases.ns[size] == pytest.approx((expected, expected), rel=0.03)
    # Each load waits for the one before it, so the time by rdtsc is the sum of a load's stages.
    assert sum(chases.node["stages_ns"].values()) == pytest.approx(chases.ns[size][1], rel=0.01)
    assert chases.node["mean_load_latency_ns"] == pytest.approx(chases.ns[size][1], rel=0.01)


@pytest.mark.once_a_week
def test_pages_of_4_kib_cost_the_walks_that_pages_of_2_mib_save(
    programs: Path, tmp_path: Path, dram: Chases
) -> None:
    """96 and 2048 entries of the TLBs reach 8 MiB of 4 KiB pages, and 2 GiB of 2 MiB pages."""
    cycle, llc = 1 / 3.8, 33.0
    sizes = (256 * KIB, 32 * MIB, GIB)
    base = Chases(tmp_path, programs, "8468v-asic", "dram", sizes[0], *sizes, base_pages=True)
    extra = {size: base.ns[size][1] - dram.ns[size][1] for size in (32 * MIB, GIB)}
    # 64 pages, all in the first TLB: nothing but L2.
    assert base.ns[256 * KIB][1] == pytest.approx(15 * cycle, rel=0.02)
    # 8192 pages: a quarter is in the second TLB (7 cycles), the others' 64 KiB of entries are in L1 or L2.
    assert 0.25 * 7 + 0.75 * 5 < extra[32 * MIB] / cycle < 0.25 * 7 + 0.75 * 15
    # 262,144 pages: 2 MiB of entries, in L2 and LLC, and 512 page-directory entries, in L1 or L2.
    assert 15 * cycle < extra[GIB] < llc + (15 + 7) * cycle
