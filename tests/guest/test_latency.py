"""What a program measures inside is what the machine's file says: a chase through caches and memories.

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

    def __init__(self, folder: Path, programs: Path, machine: str, node: str, *sizes: int) -> None:
        ran = Cxlab(folder, "marker").run(
            str(programs / "chase"),
            str(COUNT),
            *map(str, sizes),
            options=["--machine", machine, "--membind", node],
        )
        assert ran.status == 0, ran.stderr
        lines = [line.split() for line in ran.stdout.decode().splitlines()]
        self.ns = {int(size): (float(clock), float(tsc)) for size, clock, tsc in lines}
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


@pytest.mark.parametrize(("machine", "expected"), [("8468v-asic", 284.0), ("8468v-fpga", 375.0)])
def test_a_chase_in_cxl_memory(programs: Path, tmp_path: Path, machine: str, expected: float) -> None:
    """CXL-DMSim, figure 10: CXL-ASIC and CXL-FPGA."""
    chases = Chases(tmp_path, programs, machine, "cxl", GIB)
    assert chases.ns[GIB] == pytest.approx((expected, expected), rel=0.03)
    # The model's own figure is the program's, and its stages are what it is made of.
    assert chases.node["mean_load_latency_ns"] == pytest.approx(chases.ns[GIB][1], rel=0.01)
    assert sum(chases.node["stages_ns"].values()) == pytest.approx(chases.node["mean_load_latency_ns"])
