"""Linux places the program's pages where the options say: counted by the guest's kernel (numa_maps)."""

from __future__ import annotations

import json

import pytest
from cxlab.bench import key_figures
from cxlab.run import machine as description
from guests import PYTHON, Cxlab

#: Touches 1,000 small pages and says where they are: numa_maps, "N0=500 N1=500" on the mapping's line.
TOUCH = """import json, mmap, re
pages = 1000
area = mmap.mmap(-1, pages * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
area.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(pages):
    area[page * 4096] = 1
maps = open("/proc/self/numa_maps").read().splitlines()
[line] = [line for line in maps if "anon=1000 " in line]
print(json.dumps({"policy": line.partition(" ")[2], "counts": dict(re.findall(r"N(\\d+)=(\\d+)", line))}))"""


@pytest.mark.parametrize(
    ("options", "policy", "dram", "cxl"),
    [
        (["--membind", "cxl"], "bind:1", 0, 1000),
        (["--preferred", "cxl"], "prefer:1", 0, 1000),
        (["--interleave", "dram,cxl"], "interleave:0-1", 500, 500),
        (["--weighted-interleave", "dram=3,cxl=1"], "weighted interleave:0-1", 750, 250),
        ([], "default", 1000, 0),
    ],
)
def test_pages_are_where_the_option_says(
    cxlab: Cxlab, options: list[str], policy: str, dram: int, cxl: int
) -> None:
    ran = cxlab.run(PYTHON, "-c", TOUCH, options=options)
    said = json.loads(ran.stdout)
    counts = {int(node): int(pages) for node, pages in said["counts"].items()}
    assert said["policy"].startswith(policy)
    # A turn may begin on either node.
    assert counts.get(0, 0) == pytest.approx(dram, abs=4)
    assert counts.get(1, 0) == pytest.approx(cxl, abs=4)


def test_linux_sees_the_machines_nodes(cxlab: Cxlab) -> None:
    script = """cd /sys/devices/system/node; cat node1/distance node1/cpulist
cd node1/access0/initiators; cat read_latency read_bandwidth; cd ../../..
grep Mems_allowed_list /proc/self/status | cut -f 2
for node in node0 node1; do awk '{print int($4 / 1024 / 16)}' $node/meminfo | head -1; done"""
    ran = cxlab.sh(script, options=["--memory", "dram=1G,cxl=512M", "--membind", "cxl"])
    distance, cpus, latency, bandwidth, allowed, dram, cxl = ran.stdout.decode().splitlines()
    # ACPI's SLIT: 10 is local, 20 is twice as far; HMAT's bandwidth is in MiB/s.
    # The firmware tells what the bench measures.
    machine = description.from_figures("8468v-asic", key_figures.described("8468v-asic"))
    node, local = machine.node("cxl"), machine.node("dram")
    far = round(10 * node.latency_ns / local.latency_ns)
    assert (distance, cpus, int(latency)) == (f"{far} 10", "", round(node.latency_ns))
    assert int(bandwidth) == round(node.bandwidth_gb_s * 1e9 / 2**20)
    assert allowed == "0-1"
    # In units of 16 MiB; the kernel's own image is not part of node 0's total.
    assert 56 <= int(dram) <= 64 and 30 <= int(cxl) <= 32
