"""A type-3 device that Debian's kernel enumerates: seen with the real tools, as fast as its file says.

One boot a topology; everything about it is asked in that boot.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from guests import Cxlab

MIB, GIB = 1 << 20, 1 << 30
LINE = 64
#: 8468v-asic without load, calibrated to CXL-DMSim figure 10 [ns].
LATENCY_NS = {0: 130.0, 1: 284.0}

#: Each answer on a line of its own: JSON of the tools, words of lspci, and two chases of 64 MiB.
LOOK = """cxl list -v | tr -d '\\n'; echo
daxctl list | tr -d '\\n'; echo
numactl -H | grep -c '^node 1 cpus:$'
numactl -H | sed -n 's/^node 1 size: //p'
lspci -vv -d ::0502 | grep -c 'Designated Vendor-Specific: Vendor=1e98'
lspci -vv -d ::0502 | grep -c 'LnkSta:.*Speed 32GT/s, Width x16'
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
    # Interleaved by the host bridge, by the decoders of the root, and by both.
    ("ways", "bridges", "granularity"),
    [
        pytest.param(2, 1, 1024, marks=pytest.mark.once_a_week),
        pytest.param(2, 2, 4096, marks=pytest.mark.once_a_week),
        (4, 2, 256),
    ],
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
    topology, dax, cpuless, size, dvsecs, links, complaints, dram, cxl = ran.stdout.decode().splitlines()

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
    # CXL-DMSim, IV-B2: PCIe 5.0 x16.
    assert int(links) == ways
    assert int(complaints) == 0

    [device] = json.loads(dax)
    assert (device["mode"], device["online_memblocks"]) == ("system-ram", GIB // (128 * MIB))
    assert (cpuless, size) == ("1", "1024 MB")

    # What the model decodes is what Linux committed.
    [committed] = ran.summary["regions"]
    assert (committed["base"], committed["size"]) == (region["resource"], GIB)
    # Position p is the device with the p-th serial number; bridges take turns.
    assert (committed["granularity"], committed["serials"]) == (granularity, list(range(1, ways + 1)))

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


def test_devices_add_up_until_the_host_binds(programs: Path, tmp_path: Path) -> None:
    """Two cores bind while the links are whole; 1 ms after detail began they come down to x1, 8 GT/s."""
    retrained_ns = 1e6
    whole, down = {}, {}
    for ways in (1, 2, 4):
        folder = tmp_path / str(ways)
        folder.mkdir()
        ran = Cxlab(folder, "marker").run(
            *(str(programs / "rounds"), "2", str(128 << 10), "40"),
            options=[
                *("--cxl", "device", "--cpus", "2", "--interleave-ways", str(ways), "--membind", "cxl"),
                *("--memory", "dram=1G,cxl=1G", "--retrain", f"cxl=x1,8GT/s,{retrained_ns / 1e6}ms"),
                "--no-prefetch",
            ],
        )
        assert ran.status == 0, ran.stderr
        rounds = [tuple(map(float, line.split())) for line in ran.stdout.decode().splitlines()]
        # Threads come and go in the first and the last ones; so does the link at its training.
        whole[ways] = median(speed for begin, end, speed in rounds[2:] if end < retrained_ns)
        down[ways] = median(speed for begin, _, speed in rounds[:-2] if begin > 1.2 * retrained_ns)
        reads = [device["reads"] for device in ran.summary["nodes"]["cxl"]["devices"]]
        assert reads == pytest.approx([2 * 40 * (128 << 10) / LINE / ways] * ways, rel=0.01)
    # Golden Cove's 16 fill buffers (data/hosts/xeon-8468v.toml), on two cores.
    host = 2 * 16 * LINE / LATENCY_NS[1]
    assert list(whole.values()) == pytest.approx([host] * 3, rel=0.05)
    # 8 Gbit/s; a line is four slots of data and one of header, a flit of 68 B has four; 128b/130b.
    wire = 1 / (68 / 64 * 5 / 4) * 128 / 130
    assert list(down.values()) == pytest.approx([wire, 2 * wire, 4 * wire], rel=0.05)


def test_a_node_of_64_gib_takes_host_memory_for_what_is_touched(programs: Path, tmp_path: Path) -> None:
    """And for Linux's own 64 B a page, which are 1 GiB on node 0."""
    ran = Cxlab(tmp_path, "marker").sh(
        f"numactl -H | sed -n 's/^node 1 size: //p'; {programs / 'chase'} 5000 {64 * MIB}",
        options=["--cxl", "device", "--memory", "dram=2G,cxl=64G", "--membind", "cxl"],
    )
    assert ran.status == 0, ran.stderr
    size, chase = ran.stdout.decode().splitlines()
    assert size == f"{64 * 1024} MB"
    assert float(chase.split()[1]) == pytest.approx(LATENCY_NS[1], rel=0.03)
    assert ran.summary["host_memory_mb"] < 3 * 1024


def test_a_node_whose_pages_linux_could_not_describe_is_refused(tmp_path: Path) -> None:
    options = ["--cxl", "device", "--memory", "dram=1G,cxl=64G"]
    ran = Cxlab(tmp_path).run("true", options=options)
    assert ran.status == 125
    assert "dram=1G" in ran.stderr and "dram=1276M" in ran.stderr


def test_code_in_cxl_memory_is_translated_once(programs: Path, tmp_path: Path) -> None:
    """As in DRAM. Of a device's memory QEMU translates each instruction whenever it executes it: so it does
    in a page with a poisoned line (poison.rs). The trace holds all translations.
    """
    managed = ["--managed", "application", "--poison", "cxl=4032"]
    cases = {
        "dram": (["--membind", "dram"], [], "0"),
        "cxl": (["--membind", "cxl"], [], "1"),
        "device": (managed, ["/dev/dax0.0", "0"], "-1"),
    }
    traced, executed = {}, {}
    for name, (options, place, node) in cases.items():
        folder = tmp_path / name
        folder.mkdir()
        ran = Cxlab(folder, "marker").run(
            *(str(programs / "code"), "10000", *place),
            options=[
                *("--cxl", "device", "--memory", "dram=512M,cxl=256M", *options),
                *("--record", str(folder / "trace")),
            ],
        )
        assert ran.status == 0, ran.stderr
        assert ran.stdout.decode().split() == ["1", node]
        traced[name] = (folder / "trace").stat().st_size
        executed[name] = ran.summary["instructions"]["user"]
    # Five a round, and a few around.
    assert list(executed.values()) == pytest.approx([50_000] * 3, rel=0.01)
    # A timer's interrupt in the region has translations of its own, a few kilobytes of them.
    assert max(traced["dram"], traced["cxl"]) < traced["device"] / 10
