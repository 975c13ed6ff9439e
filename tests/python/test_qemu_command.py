"""QEMU is asked for the machine that the description says."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from cxlab.run.host import qemu
from cxlab.run.host.disk import Ends
from cxlab.run.machine import Machine, Node, load

MACHINE = Machine(
    "m",
    "m",
    (Node("dram", 0, 0, 130.0, 38.4), Node("cxl", 1, 1, 284.4, 25.6), Node("far", 2, 2, 400.0, 12.8)),
    2_400_000_000,
    3.8,
    48,
    load("8468v-asic").processor,
    None,
    {},
)
COMMAND = qemu.Command(
    machine=MACHINE,
    node_bytes=(2 << 30, 1 << 30, 512 << 20),
    cpus=1,
    kernel=Path("/boot/vmlinuz"),
    initramfs=Path("/initramfs"),
    run=Path("/run.json"),
    ports={name: 10 + i for i, name in enumerate(qemu.PORTS)},
    console=Path("/out/a,b/console.log"),
)


def values(command: qemu.Command, option: str) -> list[str]:
    arguments = command.arguments()
    return [after for before, after in pairwise(arguments) if before == option]


def test_each_node_has_its_memory_and_shares_it_with_a_disk_only() -> None:
    assert values(COMMAND, "-m") == ["3584M"]
    assert values(COMMAND, "-object") == [
        "memory-backend-ram,id=node0,size=2048M,reserve=off",
        "memory-backend-ram,id=node1,size=1024M,reserve=off",
        "memory-backend-ram,id=node2,size=512M,reserve=off",
    ]
    disk = Ends(device=20, plugin=21, file=22)
    assert values(replace(COMMAND, disk=disk), "-object") == [
        "memory-backend-memfd,id=node0,size=2048M,share=on",
        "memory-backend-memfd,id=node1,size=1024M,share=on",
        "memory-backend-memfd,id=node2,size=512M,share=on",
    ]


def test_several_processors_take_turns_on_one_thread() -> None:
    assert values(replace(COMMAND, cpus=4), "-smp") == ["4"]
    assert values(replace(COMMAND, cpus=4), "-accel") == ["tcg,thread=single"]
    assert values(COMMAND, "-accel") == ["tcg"]
    assert "node,nodeid=0,memdev=node0,cpus=0-3" in values(replace(COMMAND, cpus=4), "-numa")


def test_firmware_tables_carry_the_machines_figures() -> None:
    numa = values(COMMAND, "-numa")
    assert "node,nodeid=0,memdev=node0,cpus=0-0" in numa
    assert "node,nodeid=1,memdev=node1,initiator=0" in numa
    latency = "hmat-lb,initiator=0,target=1,hierarchy=memory,data-type=read-latency,latency=284"
    # 25.6 GB/s = 24,414 MiB/s
    bandwidth = "hmat-lb,initiator=0,target=1,hierarchy=memory,data-type=read-bandwidth,bandwidth=24414M"
    assert {latency, bandwidth} <= set(numa)
    # 10 is local; 284.4 / 130 = 2.19
    assert [n for n in numa if n.startswith("dist,")] == [
        "dist,src=0,dst=1,val=22",
        "dist,src=0,dst=2,val=31",
        "dist,src=1,dst=2,val=31",
    ]


def test_a_bandwidth_that_has_more_than_sixteen_bits_is_rounded() -> None:
    # 204.8 GB/s = 195,312.5 MiB/s; in units of 4 MiB/s, 48,828 (ACPI 6.5, table 5.149: 16 bits).
    fast = replace(COMMAND.machine.nodes[0], bandwidth_gb_s=204.8)
    machine = replace(COMMAND.machine, nodes=(fast, *COMMAND.machine.nodes[1:]))
    numa = values(replace(COMMAND, machine=machine), "-numa")
    bandwidths = {int(n.rsplit("=", 1)[1].removesuffix("M")) for n in numa if "data-type=read-bandwidth" in n}
    assert 4 * 48_828 in bandwidths
    # 25.6 GB/s = 24,414 MiB/s, in the same unit
    assert 24_412 in bandwidths or 24_416 in bandwidths
    assert all(bandwidth % 4 == 0 for bandwidth in bandwidths)


def test_a_comma_in_a_path_is_doubled() -> None:
    assert "file,id=console,path=/out/a,,b/console.log" in values(COMMAND, "-chardev")


def test_the_host_is_shared_read_only_and_keep_is_not() -> None:
    [host] = values(COMMAND, "-fsdev")
    assert host == "local,id=host,path=/,security_model=none,multidevs=remap,readonly=on"
    _, keep = values(replace(COMMAND, keep=Path("/k")), "-fsdev")
    assert "readonly" not in keep and "path=/k" in keep


def test_the_plugin_is_told_ring_detail_and_frequency() -> None:
    plugin = qemu.Plugin(
        Path("/p.so"), ring=7, model=8, detail="all", idle="pace", settings=("skew=2000000",)
    )
    [told] = values(replace(COMMAND, plugin=plugin), "-plugin")
    # What CPUID says is in test_cpuid.py.
    words = [word for word in told.split(",") if not word.startswith("cpuid=")]
    assert ",".join(words) == "/p.so,ring=7,model=8,detail=all,tsc=2400000000,idle=pace,vcpus=1,skew=2000000"
    assert values(COMMAND, "-plugin") == []


@pytest.mark.parametrize(
    "argument", ["tsc=reliable", "cryptomgr.notests", "numa_balancing=disable", "panic=-1"]
)
def test_the_kernel_is_told(argument: str) -> None:
    [said] = values(COMMAND, "-append")
    assert argument in said.split()


def test_the_other_end_of_the_disk_is_the_plugins() -> None:
    plugin = qemu.Plugin(Path("/p.so"), 7, 8, "all", "jump")
    disk = Ends(device=20, plugin=21, file=22)
    command = replace(COMMAND, machine=load("9754-cz120"), disk=disk, plugin=plugin)
    assert "socket,id=disk,fd=20" in values(command, "-chardev")
    [device] = [device for device in values(command, "-device") if "blk" in device]
    assert device.startswith("vhost-user-blk-pci,") and "chardev=disk" in device and "num-queues=1" in device
    [told] = values(command, "-plugin")
    # Samsung, PM983 specification: 3,200 MB/s. Its file has 8 x 4 dies, 60 us in the cells, 1 GB/s of a bus.
    # A page keeps its die 60 us and 4096 B / 1 GB/s; the controller takes 19.6 us [ps].
    assert "disk=21:22:3200000000:32:64096000:19600000" in told.split(",")
