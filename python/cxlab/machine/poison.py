"""Poisoned lines of CXL memory: ``--poison NODE=OFFSET``; see crates/qemu-plugin/src/poison.rs."""

from __future__ import annotations

from dataclasses import dataclass

from cxlab.machine.description import Machine
from cxlab.machine.errors import BadRequest
from cxlab.machine.placement import parse_bytes
from cxlab.machine.topology import Topology


@dataclass(frozen=True)
class Poison:
    """One line."""

    node: str
    window: int
    #: from the beginning of the node's memory [bytes]
    offset: int


def parse(text: str, machine: Machine, topology: Topology) -> Poison:
    """``cxl=64M`` or ``cxl=4096``.

    Raises:
        BadRequest: another form, no such CXL device, or beyond its end.

    """
    name, equals, place = text.partition("=")
    if not (name and equals and place):
        raise BadRequest(f"--poison {text}: not of the form NODE=OFFSET, as in cxl=64M")
    offset = int(place) if place.isascii() and place.isdigit() else parse_bytes(place)
    node = machine.node(name)
    for window in topology.windows:
        if window.node == node.place:
            if offset >= window.size:
                raise BadRequest(f"--poison {text}: {name} has {window.size} bytes")
            return Poison(name, window.number, offset)
    raise BadRequest(f"--poison {text}: {name} is on no CXL device; --cxl device makes CXL nodes devices")
