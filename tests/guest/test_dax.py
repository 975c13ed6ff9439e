"""Memory that a program manages: /dev/daxX.Y in 2 MiB pages, an allocator of its own, two at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from guests import Cxlab

MIB = 1 << 20
RANGE = 64 * MIB
#: A chase over the mapping; a heap; two heaps at once; then the same memory becomes a node.
SCRIPT = f"""daxctl list | grep -c devdax
numactl -H | grep available
CHASE_IN=/dev/dax0.0 {{chase}} 5000 {RANGE}
{{heap}} /dev/dax0.0 0 {RANGE}
{{heap}} /dev/dax0.0 {RANGE} {RANGE} & {{heap}} /dev/dax0.0 {2 * RANGE} {RANGE}; wait
daxctl reconfigure-device --force --mode=system-ram dax0.0 2>/dev/null | grep -c system-ram"""


def test_a_mapping_and_a_node_of_2_mib_pages_have_one_latency(
    programs: Path, dax_heap: Path, tmp_path: Path
) -> None:
    script = SCRIPT.format(chase=programs / "chase", heap=dax_heap)
    options = ["--cxl", "device", "--managed", "application", "--memory", "dram=1G,cxl=1G"]
    ran = Cxlab(tmp_path, "marker").sh(script, options=options)
    assert ran.status == 0, ran.stderr
    devdax, available, mapped, alone, *pair, system_ram = ran.stdout.decode().splitlines()
    # In a guest of its own: no line of it is in the caches yet.
    kernel = ["--cxl", "device", "--memory", "dram=1G,cxl=1G", "--membind", "cxl"]
    chase = (str(programs / "chase"), "5000", str(RANGE))
    node = Cxlab(tmp_path, "marker").run(*chase, options=kernel).stdout.decode()
    assert (devdax, available, system_ram) == ("1", "available: 1 nodes (0)", "1")
    latencies = [float(line.split()[1]) for line in (mapped, node)]
    # CXL-DMSim, figure 10.
    assert latencies == pytest.approx([284.0] * 2, rel=0.03)
    # Five thousand loads meet other refreshes and open rows in each guest.
    assert latencies[0] == pytest.approx(latencies[1], rel=0.02)
    for heap in (alone, *pair):
        nodes, outside, faults, _ = heap.split()
        assert (int(nodes), int(outside)) == (1 << 17, 0)
        # One fault a 2 MiB page, and some for mimalloc's own tables; 4 KiB pages would be 16,384.
        assert RANGE // (2 * MIB) <= int(faults) < 100
    assert float(alone.split()[3]) == pytest.approx(284.0, rel=0.03)


def test_no_policy_places_pages_in_it(tmp_path: Path) -> None:
    options = ["--cxl", "device", "--managed", "application", "--membind", "cxl"]
    ran = Cxlab(tmp_path).run("true", options=options)
    assert ran.status == 125
    assert "/dev/dax" in ran.stderr and "--managed kernel" in ran.stderr
