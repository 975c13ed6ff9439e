"""How Linux learns of CXL nodes, and what devices they are: ``--cxl``, ``--managed`` and the interleave."""

from __future__ import annotations

from typing import Any

import click

from cxlab.run.errors import BadRequest
from cxlab.run.machine import Machine
from cxlab.run.options.option import Given, Option
from cxlab.run.topology import Attachment, Interleave, Managed, Topology, attach

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


def of(given: Given, machine: Machine, node_bytes: tuple[int, ...]) -> tuple[Machine, Topology]:
    """The machine with its nodes numbered as Linux will, and the topology that the options ask for.

    Raises:
        BadRequest: an option of devices without --cxl device, or what HDM decoders cannot have.

    """
    if Attachment(given[CXL]) is Attachment.DEVICE:
        interleave = Interleave(given[WAYS], given[GRANULARITY], given[BRIDGES])
        return attach(machine, node_bytes, interleave, Managed(given[MANAGED]))
    of_devices: tuple[Option[Any], ...] = (MANAGED, WAYS, GRANULARITY, BRIDGES)
    for option in of_devices:
        if given.is_set(option):
            value = f" {given[option]}" if option is MANAGED else ""
            raise BadRequest(f"{option.flag}{value} applies only to devices. Add --cxl device")
    return machine, Topology()
