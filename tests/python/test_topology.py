"""Windows, host bridges and devices that a machine and its options ask for."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from cxlab.run import topology
from cxlab.run.errors import BadMessage, BadRequest
from cxlab.run.guest.protocol import Region
from cxlab.run.host import model_job, qemu
from cxlab.run.host.persistent import Folder
from cxlab.run.machine import Devices, Machine, Node, load
from cxlab.run.options.placement import parse
from cxlab.run.topology import Interleave, Managed, Namespace, Persistent, attach

MIB, GIB = 1 << 20, 1 << 30
#: The CXL node stands between two of firmware, as in the machines with two sockets.
MACHINE = Machine(
    "m",
    "m",
    (
        Node("dram", 0, 0, 130.0, 38.4),
        Node("cxl", 1, 1, 284.4, 25.6, Devices(1, 256)),
        Node("remote", 2, 2, 400.0, 12.8),
    ),
    2_400_000_000,
    3.8,
    48,
    load("8468v-asic").processor,
    None,
    {},
)
SIZES = (2 * GIB, 2 * GIB, GIB)


def test_linux_numbers_firmwares_nodes_first_and_then_windows() -> None:
    """Linux 6.12, drivers/acpi/numa/srat.c: acpi_parse_cfmws comes after the SRAT."""
    machine, _ = attach(MACHINE, SIZES, Interleave(), Managed.KERNEL)
    assert {node.name: node.number for node in machine.nodes} == {"dram": 0, "remote": 1, "cxl": 2}
    assert parse(machine, membind="cxl").policy == {"bind": [2]}


def test_memory_that_a_program_manages_is_no_node() -> None:
    machine, made = attach(MACHINE, SIZES, Interleave(), Managed.APPLICATION)
    with pytest.raises(BadRequest, match="/dev/dax"):
        parse(machine, membind="cxl")
    assert made.plan() == [
        {
            "window": 0,
            "serials": [1],
            "granularity": 256,
            "size": 2 * GIB,
            "partition": {"volatile": "application"},
        }
    ]


def test_four_devices_go_to_two_bridges_in_turn() -> None:
    _, made = attach(MACHINE, SIZES, Interleave(4, "1K", 2), Managed.KERNEL)
    [window] = made.windows
    assert [(device.serial, device.bridge) for device in window.devices] == [(1, 0), (2, 1), (3, 0), (4, 1)]
    assert made.machine() == [
        "cxl-fmw.0.targets.0=hb0",
        "cxl-fmw.0.targets.1=hb1",
        "cxl-fmw.0.size=2048M",
        "cxl-fmw.0.interleave-granularity=1024",
    ]


def test_qemu_is_given_one_backend_a_window_and_no_numa_node_for_it() -> None:
    machine, made = attach(MACHINE, SIZES, Interleave(2), Managed.KERNEL)
    command = qemu.Command(
        machine=machine,
        node_bytes=SIZES,
        kernel=Path("/k"),
        initramfs=Path("/i"),
        run=Path("/r"),
        ports=dict.fromkeys(qemu.PORTS, 9),
        console=Path("/c"),
        cpus=1,
        plugin=qemu.Plugin(Path("/p.so"), ring=7, model=8, detail="all", idle="jump"),
        topology=made,
    )
    arguments = command.arguments()
    pairs = list(pairwise(arguments))
    assert ("-m", "3072M") in pairs
    assert ("-object", f"memory-backend-memfd,id=window0,size={2 * MIB}K,share=on") in pairs
    assert [a for a in arguments if a.startswith("node,")] == [
        "node,nodeid=0,memdev=node0,cpus=0-0",
        "node,nodeid=1,memdev=node1,initiator=0",
    ]
    assert [a for a in arguments if a.startswith("cxl-type3")] == [
        "cxl-type3,id=mem1,bus=rp1,volatile-memdev=media1,sn=1",
        "cxl-type3,id=mem2,bus=rp2,volatile-memdev=media2,sn=2",
    ]
    assert any(",windows=1," in a for a in arguments)


@pytest.mark.parametrize(
    ("sizes", "interleave", "wanted"),
    [
        (SIZES, Interleave(3), "1, 2, 4 ways"),
        (SIZES, Interleave(1, bridges=2), "1 devices, so 1 to 1"),
        (SIZES, Interleave(2, "300"), "256, 512, 1K, 2K, 4K, 8K, 16K"),
        ((GIB, 768 << 20, GIB), Interleave(2), "multiple of 512M"),
        ((GIB, 128 << 20, GIB), Interleave(), "multiple of 256M"),
    ],
)
def test_what_no_decoder_can_be_is_refused(
    sizes: tuple[int, ...], interleave: Interleave, wanted: str
) -> None:
    with pytest.raises(BadRequest, match=wanted):
        attach(MACHINE, sizes, interleave, Managed.KERNEL)


def persistent(**sizes: int) -> Persistent:
    return Persistent(sizes, Namespace.FSDAX)


def test_a_persistent_partition_is_the_end_of_each_device_and_a_region_of_its_own() -> None:
    machine, made = attach(MACHINE, SIZES, Interleave(2), Managed.KERNEL, persistent(cxl=GIB))
    assert machine.nodes[1].number == 2
    assert [(region["size"], region["partition"]) for region in made.plan()] == [
        (GIB, {"volatile": "kernel"}),
        (GIB, {"persistent": "fsdax"}),
    ]
    arguments = made.arguments({"persistent0": Path("/d/cxl.media"), "labels2": Path("/d/2.labels")})
    assert f"memory-backend-file,id=persistent0,size={MIB}K,mem-path=/d/cxl.media,share=on" in arguments
    assert "memory-backend-memfd,id=labels1,size=128K,share=on" in arguments
    assert "memory-backend-file,id=labels2,size=128K,mem-path=/d/2.labels,share=on" in arguments
    assert arguments.count("memory-backend-ram,id=pmedia1,size=512M,share=on") == 1
    [first] = [word for word in arguments if word.startswith("cxl-type3,id=mem1,")]
    assert "volatile-memdev=media1,persistent-memdev=pmedia1,lsa=labels1" in first


def test_a_node_that_is_persistent_as_a_whole_is_no_node_of_linux() -> None:
    machine, made = attach(MACHINE, SIZES, Interleave(), Managed.KERNEL, persistent(cxl=2 * GIB))
    assert machine.nodes[1].number is None
    assert [region["partition"] for region in made.plan()] == [{"persistent": "fsdax"}]
    assert not any("id=window0" in word for word in made.arguments({}))


@pytest.mark.parametrize("size", [128 * MIB, 3 * GIB])
def test_a_partition_that_no_device_can_have_is_refused(size: int) -> None:
    with pytest.raises(BadRequest, match=r"multiple of 256M .256M a device., and a part of cxl=2G"):
        attach(MACHINE, SIZES, Interleave(), Managed.KERNEL, persistent(cxl=size))


def test_the_folder_of_persistent_partitions_is_one_runs_and_remembers_them(tmp_path: Path) -> None:
    _, made = attach(MACHINE, SIZES, Interleave(), Managed.KERNEL, persistent(cxl=GIB))
    with Folder(tmp_path / "pmem", MACHINE, made) as held:
        sizes = {name: path.stat().st_size for name, path in held.files.items()}
        assert sizes == {"persistent0": GIB, "labels1": 128 << 10}
        held.files["labels1"].write_bytes(b"kept")
        with pytest.raises(BadRequest, match="another run has it"):
            Folder(tmp_path / "pmem", MACHINE, made)
    with Folder(tmp_path / "pmem", MACHINE, made) as held:
        assert held.files["labels1"].read_bytes()[:4] == b"kept"
    _, other = attach(MACHINE, SIZES, Interleave(2), Managed.KERNEL, persistent(cxl=GIB))
    with pytest.raises(BadRequest, match="it holds other partitions"):
        Folder(tmp_path / "pmem", MACHINE, other)
    with pytest.raises(BadRequest, match="Name a folder to write in"):
        Folder(tmp_path / "absent" / "pmem", MACHINE, made)


def test_linux_that_puts_a_pmem_region_elsewhere_is_refused() -> None:
    """The model has one set of HDM decoders for both regions of a window."""
    _, made = attach(MACHINE, SIZES, Interleave(), Managed.KERNEL, persistent(cxl=GIB))
    ram = Region(0, "ram", 4 * GIB, GIB, 256, (1,), 2, "dax0.0")
    pmem = Region(0, "pmem", 5 * GIB, GIB, 256, (1,), None, "pmem1")
    [told] = model_job.regions(made, (pmem, ram))
    assert (told["base"], told["size"], told["targets"]) == (4 * GIB, 2 * GIB, [0])
    with pytest.raises(BadMessage, match="elsewhere than behind its ram region"):
        model_job.regions(made, (ram, replace(pmem, base=6 * GIB)))


def test_a_machine_without_cxl_has_no_windows() -> None:
    dram = replace(MACHINE, nodes=MACHINE.nodes[:1])
    assert attach(dram, SIZES[:1], Interleave(), Managed.KERNEL)[1] == topology.Topology()
