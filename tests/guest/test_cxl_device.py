"""A type-3 device that Debian's kernel enumerates: seen with the real tools, as fast as its file says.

One boot a topology; everything about it is asked in that boot.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from guests import Cxlab

MIB, GIB = 1 << 20, 1 << 30
#: 8468v-asic without load, calibrated to CXL-DMSim figure 10 [ns].
LATENCY_NS = {0: 130.0, 1: 284.0}

#: Each answer on a line of its own: JSON of the tools, words of lspci, and two chases of 64 MiB.
LOOK = """cxl list -v | tr -d '\\n'; echo
daxctl list | tr -d '\\n'; echo
numactl -H | grep -c '^node 1 cpus:$'
numactl -H | sed -n 's/^node 1 size: //p'
lspci -vv -d ::0502 | grep -c 'Designated Vendor-Specific: Vendor=1e98'
dmesg | grep -cE 'cxl.*([Ff]ailed|error:)'
numactl --membind=0 {chase} 5000 67108864
numactl --membind=1 {chase} 5000 67108864"""


def found(tree: Any, name: str) -> list[Any]:
    """Every value called ``name`` in the JSON of a tool, in its order."""
    if isinstance(tree, list):
        return [value for item in tree for value in found(item, name)]
    if not isinstance(tree, dict):
        return []
    here = [tree[name]] if name in tree else []
    return here + [
        value for value in tree.values() if isinstance(value, dict | list) for value in found(value, name)
    ]


@pytest.mark.parametrize(
    ("ways", "bridges", "granularity"), [(1, 1, 256), (2, 1, 1024), (2, 2, 4096), (4, 2, 256)]
)
def test_linux_enumerates_the_devices_and_both_nodes_have_their_latency(
    programs: Path, tmp_path: Path, ways: int, bridges: int, granularity: int
) -> None:
    options = [
        *("--cxl", "device", "--interleave-ways", str(ways), "--host-bridges", str(bridges)),
        *("--granularity", str(granularity), "--memory", "dram=1G,cxl=1G"),
    ]
    ran = Cxlab(tmp_path, "marker").sh(LOOK.format(chase=programs / "chase"), options=options)
    assert ran.status == 0, ran.stderr
    topology, dax, cpuless, size, dvsecs, complaints, dram, cxl = ran.stdout.decode().splitlines()

    seen = json.loads(topology)
    assert sorted(found(seen, "serial")) == list(range(1, ways + 1))
    assert len(found(seen, "endpoint")) == ways
    [root] = found(seen, "decoders:root0")[0]
    assert root["interleave_ways"] == bridges
    [region] = found(root, "regions:decoder0.0")[0]
    assert (region["interleave_ways"], region["interleave_granularity"]) == (ways, granularity)
    assert (region["decode_state"], region["size"]) == ("commit", GIB)
    # CXL 2.0, 8.1.3: the DVSECs of a device carry the consortium's vendor number; each device has several.
    assert int(dvsecs) >= 3 * ways
    assert int(complaints) == 0

    [device] = json.loads(dax)
    assert (device["mode"], device["online_memblocks"]) == ("system-ram", GIB // (128 * MIB))
    assert (cpuless, size) == ("1", "1024 MB")

    # What the model decodes is what Linux committed.
    [committed] = ran.summary["regions"]
    assert (committed["base"], committed["size"]) == (region["resource"], GIB)
    assert (committed["granularity"], len(committed["serials"])) == (granularity, ways)

    for node, line in enumerate((dram, cxl)):
        _, clock, tsc = map(float, line.split())
        assert (clock, tsc) == pytest.approx((LATENCY_NS[node],) * 2, rel=0.03)


def test_two_windows_are_two_nodes_behind_firmwares(tmp_path: Path) -> None:
    """spr-a1000: three CXL nodes and two of firmware; Linux numbers windows last."""
    ran = Cxlab(tmp_path).sh(
        "numactl -s | grep membind; daxctl list | grep -c target_node; numactl -H | grep size",
        options=[
            *("--machine", "spr-a1000", "--cxl", "device", "--membind", "cxl2"),
            *("--memory", "cxl=512M,cxl2=768M,cxl-remote=256M"),
        ],
    )
    assert ran.status == 0, ran.stderr
    bound, devices, *sizes = ran.stdout.decode().splitlines()
    assert (bound.split(), devices) == (["membind:", "3"], "3")
    assert [int(re.findall(r"\d+", size)[1]) for size in sizes][2:] == [512, 768, 256]


def test_two_devices_carry_twice_what_one_does(programs: Path, tmp_path: Path) -> None:
    """Links that came down to x1 at 8 GT/s bind; where the core does: crates/model/tests/regions.rs."""
    bandwidth = {}
    for ways in (1, 2):
        folder = tmp_path / str(ways)
        folder.mkdir()
        ran = Cxlab(folder, "marker").run(
            *(str(programs / "stream"), str(16 * MIB)),
            options=[
                *("--cxl", "device", "--interleave-ways", str(ways), "--membind", "cxl"),
                *("--memory", "dram=1G,cxl=512M", "--retrain", "cxl=x1,8GT/s"),
            ],
        )
        assert ran.status == 0, ran.stderr
        node = ran.summary["nodes"]["cxl"]
        bandwidth[ways] = node["bandwidth_mb_s"]
        reads = [device["reads"] for device in node["devices"]]
        assert reads == pytest.approx([16 * MIB / 64 / ways] * ways, rel=0.01)
    # 8 Gbit/s; a line is four slots of data and one of header, a flit of 68 B has four; 128b/130b.
    wire = 1000 / (68 / 64 * 5 / 4) * 128 / 130
    assert bandwidth[1] == pytest.approx(wire, rel=0.05)
    assert bandwidth[2] == pytest.approx(2 * bandwidth[1], rel=0.05)
