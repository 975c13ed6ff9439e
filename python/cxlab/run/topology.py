"""The CXL topology of a machine: windows, host bridges, root ports and type-3 devices.

::

    fixed memory window 0 --+-- host bridge 0 --+-- root port -- type-3 device, serial 1
      (one a CXL node,      |                   +-- root port -- type-3 device, serial 3
       interleaved over     |
       its bridges)         +-- host bridge 1 --+-- root port -- type-3 device, serial 2
                                                +-- root port -- type-3 device, serial 4

A persistent partition is the end of each device, and a second region of the window, behind the volatile
one. Its device addresses follow on. So one set of HDM decoders holds both for the model.

Position p of a region is the device with the window's p-th serial number. A window over two bridges goes to
them in turn, so they do, too. QEMU has the registers; memory is one backend a partition
(crates/qemu-plugin/src/window.rs). Not offered: switches, and devices that two windows share.

Source: QEMU 10.0, docs/system/devices/cxl.rst; Linux 6.12, drivers/cxl/core/region.c (order of targets).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

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
#: Of a device's label storage area: what Linux's own tests give one (6.12, tools/testing/cxl/test/mem.c,
#: LSA_SIZE) [bytes].
LABEL_BYTES = 128 << 10
#: Bus numbers between two host bridges: one for each root port, and some to spare.
BUSES = 16


class Attachment(StrEnum):
    """How Linux learns of a CXL node."""

    DEVICE = "device"
    FIRMWARE = "firmware"


class Managed(StrEnum):
    """Whether Linux or the application decides what lies in volatile CXL memory."""

    KERNEL = "kernel"
    APPLICATION = "application"


class Namespace(StrEnum):
    """Namespace for a pmem region whose labels have none."""

    DEVDAX = "devdax"
    FSDAX = "fsdax"
    NONE = "none"


@dataclass(frozen=True)
class Persistent:
    """Values of ``--persistent``, ``--namespace`` and ``--persistent-in``."""

    #: of each node, by its name [bytes]
    sizes: Mapping[str, int] = field(default_factory=dict)
    namespace: Namespace = Namespace.DEVDAX
    #: keeps media and labels; None: both are gone with the run
    folder: Path | None = None


@dataclass(frozen=True)
class Interleave:
    """Values of ``--interleave-ways``, ``--granularity`` and ``--host-bridges``; None: as in its file."""

    ways: int | None = None
    granularity: str | None = None
    bridges: int = 1


@dataclass(frozen=True)
class Device:
    """A type-3 device behind a root port of its own."""

    serial: int
    #: host bridge, counted over the machine
    bridge: int
    #: of both partitions [bytes]
    size: int
    #: of the persistent one [bytes]
    persistent: int = 0


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
    namespace: Namespace = Namespace.DEVDAX

    @property
    def size(self) -> int:
        """Size of all devices together [bytes]."""
        return sum(device.size for device in self.devices)

    @property
    def persistent(self) -> int:
        """Size of the persistent partitions of all devices [bytes]."""
        return sum(device.persistent for device in self.devices)

    @property
    def volatile(self) -> int:
        """Size of the volatile partitions of all devices [bytes]."""
        return self.size - self.persistent

    def regions(self) -> list[dict[str, object]]:
        """The regions to be made, in the order of their addresses."""
        made = None if self.namespace is Namespace.NONE else self.namespace.value
        partitions: list[tuple[int, dict[str, object]]] = [
            (self.volatile, {"volatile": self.managed.value}),
            (self.persistent, {"persistent": made}),
        ]
        return [
            {
                "window": self.number,
                "serials": [device.serial for device in self.devices],
                "granularity": self.granularity,
                "size": size,
                "partition": partition,
            }
            for size, partition in partitions
            if size
        ]


@dataclass(frozen=True)
class Topology:
    """Every CXL node's window; none where firmware describes the nodes."""

    windows: tuple[Window, ...] = ()
    #: keeps what is persistent; None: it is gone with the run
    kept_in: Path | None = None

    def plan(self) -> list[dict[str, object]]:
        """The regions to be made, as the guest's init reads them (crates/guest-init/src/cxl.rs)."""
        return [region for window in self.windows for region in window.regions()]

    @property
    def persists(self) -> bool:
        """Whether a device has a persistent partition."""
        return any(window.persistent for window in self.windows)

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

    def arguments(self, kept: Mapping[str, Path]) -> list[str]:
        """Memory and devices; ``kept`` has the files of what is persistent, by the name of QEMU's object."""
        arguments = []
        for window in self.windows:
            if window.volatile:
                arguments += ["-object", _backend(f"window{window.number}", window.volatile, {})]
            if window.persistent:
                arguments += ["-object", _backend(media_of(window), window.persistent, kept)]
            for bridge in window.bridges:
                bus = BUSES * (bridge + 1)
                # Linux gives a host bridge that passes everything on one decoder: room for one region.
                decoders = ",hdm_for_passthrough=true" if window.volatile and window.persistent else ""
                arguments += ["-device", f"pxb-cxl,id=hb{bridge},bus=pcie.0,bus_nr={bus}{decoders}"]
            for port, device in enumerate(window.devices):
                serial = device.serial
                arguments += [
                    "-device",
                    f"cxl-rp,id=rp{serial},bus=hb{device.bridge},port={port},chassis={window.number},slot={serial}",
                    *_type3(device, kept),
                ]
        return arguments


def labels_of(serial: int) -> str:
    """Name of QEMU's object with the labels of a device."""
    return f"labels{serial}"


def media_of(window: Window) -> str:
    """Name of QEMU's object with what is persistent behind a window."""
    return f"persistent{window.number}"


def _backend(name: str, size: int, kept: Mapping[str, Path]) -> str:
    """Shared memory: of a file if it is kept."""
    if name in kept:
        path = str(kept[name]).replace(",", ",,")
        return f"memory-backend-file,id={name},size={size >> 10}K,mem-path={path},share=on"
    return f"memory-backend-memfd,id={name},size={size >> 10}K,share=on"


def _type3(device: Device, kept: Mapping[str, Path]) -> list[str]:
    """A device. Its media have a size only: data are in the window's backends."""
    serial, volatile = device.serial, device.size - device.persistent
    objects, settings = [], ""
    if volatile:
        objects += ["-object", f"memory-backend-ram,id=media{serial},size={volatile // MIB}M,share=on"]
        settings += f",volatile-memdev=media{serial}"
    if device.persistent:
        labels = labels_of(serial)
        objects += [
            "-object",
            f"memory-backend-ram,id=pmedia{serial},size={device.persistent // MIB}M,share=on",
        ]
        objects += ["-object", _backend(labels, LABEL_BYTES, kept)]
        settings += f",persistent-memdev=pmedia{serial},lsa={labels}"
    return [*objects, "-device", f"cxl-type3,id=mem{serial},bus=rp{serial}{settings},sn={serial}"]


def attach(
    machine: Machine,
    node_bytes: tuple[int, ...],
    interleave: Interleave,
    managed: Managed,
    persistent: Persistent | None = None,
) -> tuple[Machine, Topology]:
    """The machine with a window for each CXL node, its nodes numbered as Linux will.

    Linux numbers the nodes of its firmware's tables first, then one for each window (Linux 6.12,
    drivers/acpi/numa/srat.c); memory that a program manages has no node.

    Raises:
        BadRequest: ways, granularity or a size that HDM decoders cannot have.

    """
    persistent = persistent or Persistent()
    windows: list[Window] = []
    serials = bridges = 0
    for node in (node for node in machine.nodes if node.devices is not None):
        assert node.devices is not None
        ways = interleave.ways or node.devices.count
        granularity = _granularity(interleave.granularity) or node.devices.granularity
        _check(node, node_bytes[node.place], ways, interleave.bridges)
        here = tuple(range(bridges, bridges + interleave.bridges))
        share = node_bytes[node.place] // ways
        kept = _persistent_share(node, node_bytes[node.place], ways, persistent.sizes.get(node.name, 0))
        devices = tuple(Device(serials + way + 1, here[way % len(here)], share, kept) for way in range(ways))
        window = Window(len(windows), node.place, here, devices, granularity, managed, persistent.namespace)
        windows.append(window)
        serials, bridges = serials + ways, bridges + len(here)
    if managed is Managed.KERNEL:
        _check_descriptions(machine, node_bytes, sum(window.volatile for window in windows))
    return _numbered(machine, managed, windows), Topology(tuple(windows), persistent.folder)


def _persistent_share(node: Node, size: int, ways: int, asked: int) -> int:
    """Size of the persistent partition of each device of a node [bytes]."""
    multiple = DEVICE_MULTIPLE * ways
    if asked % multiple or asked > size:
        raise BadRequest(
            f"--persistent {node.name}={format_bytes(asked)}: over {ways} devices it is a multiple of "
            f"{format_bytes(multiple)} (256M a device), and a part of {node.name}={format_bytes(size)} "
            "of --memory"
        )
    return asked // ways


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


def _numbered(machine: Machine, managed: Managed, of_devices: list[Window]) -> Machine:
    volatile = {window.node: window.volatile for window in of_devices}
    firmware = [node for node in machine.nodes if node.devices is None]
    windows = [node for node in machine.nodes if node.devices is not None]
    order = {node.name: number for number, node in enumerate(firmware + windows)}
    by_program = managed is Managed.APPLICATION

    def numbered(node: Node) -> Node:
        is_no_node = node.devices is not None and (by_program or not volatile[node.place])
        return replace(node, number=None if is_no_node else order[node.name])

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
