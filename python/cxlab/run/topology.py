"""The CXL topology of a machine: windows, host bridges, root ports and type-3 devices.

::

    fixed memory window 0 --+-- host bridge 0 --+-- root port -- type-3 device, serial 1
      (one a CXL node,      |                   +-- root port -- type-3 device, serial 3
       interleaved over     |
       its bridges)         +-- host bridge 1 --+-- root port -- type-3 device, serial 2
                                                +-- root port -- type-3 device, serial 4

Position p of a region is the device with the window's p-th serial number; a window over two bridges goes to
them in turn, so they do, too. QEMU has the registers; memory is one backend a window
(crates/qemu-plugin/src/window.rs). Not offered: switches, and devices that two windows share.

Source: QEMU 10.0, docs/system/devices/cxl.rst; Linux 6.12, drivers/cxl/core/region.c (order of targets).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from cxlab.run.errors import BadRequest
from cxlab.run.machine import Machine, Node
from cxlab.run.size import LEAST_BOOT_NODE_BYTES, MIB, format_bytes, parse_bytes

#: A window and the share of each device are multiples of this (CXL 2.0, 8.2.5.12; QEMU asks for it, too).
DEVICE_MULTIPLE = 256 * MIB
WAYS = (1, 2, 4)
MOST_BRIDGES = 2
#: CXL 2.0, 8.2.5.12: IG 0 to 6.
GRANULARITIES = tuple(256 << ig for ig in range(7))
#: What Linux keeps of each page, on node 0 for those of devices [bytes]; struct page, Linux 6.12.
PAGE_BYTES, DESCRIPTION_BYTES = 4096, 64
#: Bus numbers between two host bridges: one for each root port, and some to spare.
BUSES = 16


class Attachment(StrEnum):
    """How Linux learns of a CXL node."""

    DEVICE = "device"
    FIRMWARE = "firmware"


class Managed(StrEnum):
    """Who decides what lies in CXL memory."""

    KERNEL = "kernel"
    APPLICATION = "application"


@dataclass(frozen=True)
class Interleave:
    """What ``--interleave-ways``, ``--granularity`` and ``--host-bridges`` ask for; None: as in its file."""

    ways: int | None = None
    granularity: str | None = None
    bridges: int = 1


@dataclass(frozen=True)
class Device:
    """A type-3 device behind a root port of its own."""

    serial: int
    #: host bridge, counted over the machine
    bridge: int
    #: [bytes]
    size: int


@dataclass(frozen=True)
class Window:
    """A CXL fixed memory window and the region over it."""

    number: int
    #: place in the machine's file
    node: int
    bridges: tuple[int, ...]
    #: by position in the region
    devices: tuple[Device, ...]
    #: [bytes]
    granularity: int
    managed: Managed

    @property
    def size(self) -> int:
        """Of all devices [bytes]."""
        return sum(device.size for device in self.devices)


@dataclass(frozen=True)
class Topology:
    """Every CXL node's window; none where firmware describes the nodes."""

    windows: tuple[Window, ...] = ()

    def plan(self) -> list[dict[str, object]]:
        """The regions to be made, as the guest's init reads them (crates/guest-init/src/cxl.rs)."""
        return [
            {
                "window": window.number,
                "serials": [device.serial for device in window.devices],
                "granularity": window.granularity,
                "size": window.size,
                "managed": window.managed.value,
            }
            for window in self.windows
        ]

    def machine(self) -> list[str]:
        """The settings of QEMU's machine."""
        settings = []
        for window in self.windows:
            name = f"cxl-fmw.{window.number}"
            settings += [f"{name}.targets.{way}=hb{bridge}" for way, bridge in enumerate(window.bridges)]
            settings += [f"{name}.size={window.size // MIB}M"]
            if len(window.bridges) > 1:
                settings += [f"{name}.interleave-granularity={window.granularity}"]
        return settings

    def arguments(self) -> list[str]:
        """Memory and devices."""
        arguments = []
        for window in self.windows:
            backing = f"memory-backend-memfd,id=window{window.number},size={window.size // MIB}M,share=on"
            arguments += ["-object", backing]
            for bridge in window.bridges:
                bus = BUSES * (bridge + 1)
                arguments += ["-device", f"pxb-cxl,id=hb{bridge},bus=pcie.0,bus_nr={bus}"]
            for port, device in enumerate(window.devices):
                serial = device.serial
                arguments += [
                    "-object",
                    f"memory-backend-ram,id=media{serial},size={device.size // MIB}M,share=on",
                    "-device",
                    f"cxl-rp,id=rp{serial},bus=hb{device.bridge},port={port},chassis={window.number},slot={serial}",
                    "-device",
                    f"cxl-type3,id=mem{serial},bus=rp{serial},volatile-memdev=media{serial},sn={serial}",
                ]
        return arguments


def attach(
    machine: Machine, node_bytes: tuple[int, ...], interleave: Interleave, managed: Managed
) -> tuple[Machine, Topology]:
    """The machine with a window for each CXL node, its nodes numbered as Linux will.

    Linux numbers the nodes of its firmware's tables first, then one for each window (Linux 6.12,
    drivers/acpi/numa/srat.c); memory that a program manages has no node.

    Raises:
        BadRequest: ways, granularity or a size that HDM decoders cannot have.

    """
    windows: list[Window] = []
    serials = bridges = 0
    for node in (node for node in machine.nodes if node.devices is not None):
        assert node.devices is not None
        ways = interleave.ways or node.devices.count
        granularity = _granularity(interleave.granularity) or node.devices.granularity
        _check(node, node_bytes[node.place], ways, interleave.bridges)
        here = tuple(range(bridges, bridges + interleave.bridges))
        share = node_bytes[node.place] // ways
        devices = tuple(Device(serials + way + 1, here[way % len(here)], share) for way in range(ways))
        windows.append(Window(len(windows), node.place, here, devices, granularity, managed))
        serials, bridges = serials + ways, bridges + len(here)
    if managed is Managed.KERNEL:
        _check_descriptions(machine, node_bytes, sum(window.size for window in windows))
    return _numbered(machine, managed), Topology(tuple(windows))


def _check_descriptions(machine: Machine, node_bytes: tuple[int, ...], of_devices: int) -> None:
    """Whether node 0 holds Linux and its descriptions of the devices' pages."""
    local = machine.nodes[0]
    # Linux was seen to boot on its least node 0 with one device of the least size.
    described = max(0, of_devices - DEVICE_MULTIPLE) // PAGE_BYTES * DESCRIPTION_BYTES
    least = LEAST_BOOT_NODE_BYTES + -(-described // (2 * MIB)) * 2 * MIB
    if node_bytes[local.place] < least:
        raise BadRequest(
            f"--memory {local.name}={format_bytes(node_bytes[local.place])}: at least "
            f"{local.name}={format_bytes(least)}, where Linux keeps {DESCRIPTION_BYTES} B for each page of "
            f"the {format_bytes(of_devices)} behind CXL devices"
        )


def _numbered(machine: Machine, managed: Managed) -> Machine:
    firmware = [node for node in machine.nodes if node.devices is None]
    windows = [node for node in machine.nodes if node.devices is not None]
    order = {node.name: number for number, node in enumerate(firmware + windows)}
    by_program = managed is Managed.APPLICATION

    def numbered(node: Node) -> Node:
        return replace(node, number=None if by_program and node.devices is not None else order[node.name])

    return replace(machine, nodes=tuple(numbered(node) for node in machine.nodes))


def _granularity(text: str | None) -> int | None:
    if text is None:
        return None
    granularity = int(text) if text.isascii() and text.isdigit() else parse_bytes(text)
    if granularity not in GRANULARITIES:
        valid = ", ".join(format_bytes(g) for g in GRANULARITIES)
        raise BadRequest(f"--granularity {text}: an HDM decoder interleaves {valid}")
    return granularity


def _check(node: Node, size: int, ways: int, bridges: int) -> None:
    if ways not in WAYS:
        raise BadRequest(
            f"node {node.name} of {ways} devices: a region is interleaved {', '.join(map(str, WAYS))} ways"
        )
    if not 1 <= bridges <= min(MOST_BRIDGES, ways):
        raise BadRequest(
            f"--host-bridges {bridges}: {node.name} has {ways} devices, so 1 to {min(MOST_BRIDGES, ways)}"
        )
    multiple = DEVICE_MULTIPLE * ways
    if size % multiple:
        raise BadRequest(
            f"--memory {node.name}={format_bytes(size)}: over {ways} devices its size is a multiple of "
            f"{format_bytes(multiple)} (256M a device); --cxl firmware takes other sizes"
        )
