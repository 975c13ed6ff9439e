"""lat_mem_rd's curve: a walk over a buffer of each size reads the plateaus of the caches and of the memory.

A walk draws its lines anew. So a cache of LRU serves a part of its loads: the part of the buffer that the
cache holds. Means between two plateaus therefore have a closed form.
"""

from __future__ import annotations

import pytest
from cxlab.bench import sweep
from cxlab.bench.request import Placement, Workload

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
#: The host file's: capacity [B], load to use [ns]; L1 of 5 and L2 of 15 cycles at 3.8 GHz, LLC of 52 slices.
CACHES = ((48 * KIB, 5 / 3.8), (2 * MIB, 15 / 3.8), (52 * 1920 * KIB + 2 * MIB, 33.0))
#: Machine, node, load to use from memory [ns]: CXL-DMSim, figure 10.
MEMORIES = (("8468v-asic", "dram", 130.0), ("8468v-asic", "cxl", 284.0), ("8468v-fpga", "cxl", 375.0))


def expected(size: int, memory: float) -> float:
    """The mean over the parts of the buffer that each cache holds, the nearest first."""
    held, total = 0, 0.0
    for capacity, latency in CACHES:
        part = min(size, capacity) - held
        held, total = held + part, total + part * latency
    return (total + (size - held) * memory) / size


@pytest.mark.parametrize(("machine", "node", "memory"), MEMORIES)
def test_a_walk_reads_the_plateaus(machine: str, node: str, memory: float) -> None:
    sizes = (1 * KIB, 32 * KIB, 1 * MIB, 32 * MIB, 1 * GIB)
    workload = Workload(machine, Placement(((node, 1),)), threads=0)
    points = sweep.run([workload.job_of({"walk": {"size": f"{size} B"}}) for size in sizes], "walk")
    for size, point in zip(sizes, points, strict=True):
        assert point.latency_ns == pytest.approx(expected(size, memory), rel=0.02), size
