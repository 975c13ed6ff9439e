"""Options for CXL nodes: how Linux learns of them, and their devices (``--cxl``, ``--managed``,
interleave)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cxlab.run.errors import BadRequest
from cxlab.run.machine import Machine
from cxlab.run.options import placement
from cxlab.run.options.option import Given, Option
from cxlab.run.size import parse_bytes
from cxlab.run.topology import Attachment, Interleave, Managed, Namespace, Persistent, Topology, attach

ATTACHMENTS, MANAGERS = ([choice.value for choice in kind] for kind in (Attachment, Managed))
CXL: Option[str] = Option(
    "--cxl",
    "How Linux finds CXL memory: `device`, by its own CXL driver, or `firmware`, in the tables SRAT and "
    "HMAT.",
    {
        "type": click.Choice([choice.value for choice in Attachment]),
        "default": Attachment.FIRMWARE.value,
        "show_default": True,
    },
)
MANAGED: Option[str] = Option(
    "--managed",
    "Owner of the devices' memory: `kernel`, as a NUMA node, or `application`, as /dev/dax0.0. "
    "Needs --cxl device.",
    {
        "type": click.Choice([choice.value for choice in Managed]),
        "default": Managed.KERNEL.value,
        "show_default": True,
    },
)
WAYS: Option[int | None] = Option(
    "--interleave-ways",
    "Number of devices of each CXL node: 1, 2 or 4. Needs --cxl device.  "
    "[default: the machine file's]  Example: 2",
    {"type": int, "metavar": "N"},
)
GRANULARITY: Option[str | None] = Option(
    "--granularity",
    "Number of bytes in a row on one of the interleaved devices, 256 to 16K. Needs --cxl device.  "
    "[default: the machine file's]  Example: 1K",
    {"metavar": "SIZE"},
)
BRIDGES: Option[int] = Option(
    "--host-bridges",
    "Number of host bridges of each CXL node: 1 or 2. Needs --cxl device.  Example: 2",
    {"type": int, "default": 1, "show_default": True, "metavar": "N"},
)


PERSISTENT: Option[str | None] = Option(
    "--persistent",
    "Size of the persistent partition of CXL nodes, a part of --memory: a pmem region of Linux's driver. "
    "Needs --cxl device.  [default: none]  Example: cxl=512M",
    {"metavar": "NODE=SIZE,..."},
)
NAMESPACE: Option[str] = Option(
    "--namespace",
    "Namespace of a pmem region that has none: `devdax` is /dev/daxX.Y, `fsdax` is /dev/pmemX, and `none` "
    "leaves it to ndctl. Needs --persistent.",
    {
        "type": click.Choice([choice.value for choice in Namespace]),
        "default": Namespace.DEVDAX.value,
        "show_default": True,
    },
)
PERSISTENT_IN: Option[Path | None] = Option(
    "--persistent-in",
    "Folder in which the persistent partitions outlive the run, however it ends: the guest writes there. "
    "Needs --persistent.  [default: they are gone with the run]  Example: pmem",
    {"type": click.Path(path_type=Path, file_okay=False), "metavar": "DIR"},
)


def persistent(given: Given, machine: Machine) -> Persistent:
    """Read the options of persistent partitions.

    Raises:
        BadRequest: options of a partition that nothing asks for, or another form of sizes.

    """
    text = given[PERSISTENT]
    if text is None:
        for option in (NAMESPACE, PERSISTENT_IN):
            if given.is_set(option):
                raise BadRequest(f"{option.flag} needs a partition. Add --persistent NODE=SIZE")
        return Persistent()
    sizes = {}
    for name, size in placement.pairs(PERSISTENT.flag, text, "cxl=512M").items():
        node = machine.node(name)
        if node.devices is None:
            raise BadRequest(f"--persistent {name}={size}: {name} is no CXL node. Name one that is")
        sizes[node.name] = parse_bytes(size)
    return Persistent(sizes, Namespace(given[NAMESPACE]), given[PERSISTENT_IN])


def of(given: Given, machine: Machine, node_bytes: tuple[int, ...]) -> tuple[Machine, Topology]:
    """The machine with its nodes numbered as Linux will, and the topology that the options ask for.

    Raises:
        BadRequest: an option of devices without --cxl device, or what HDM decoders cannot have.

    """
    if Attachment(given[CXL]) is Attachment.DEVICE:
        interleave = Interleave(given[WAYS], given[GRANULARITY], given[BRIDGES])
        return attach(machine, node_bytes, interleave, Managed(given[MANAGED]), persistent(given, machine))
    of_devices: tuple[Option[Any], ...] = (
        MANAGED,
        WAYS,
        GRANULARITY,
        BRIDGES,
        PERSISTENT,
        NAMESPACE,
        PERSISTENT_IN,
    )
    for option in of_devices:
        if given.is_set(option):
            value = f" {given[option]}" if option is MANAGED else ""
            raise BadRequest(f"{option.flag}{value} applies only to devices. Add --cxl device")
    return machine, Topology()
