"""Poisoned lines of CXL memory: ``--poison NODE=OFFSET``; see crates/qemu-plugin/src/poison.rs."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from cxlab.run.errors import BadRequest
from cxlab.run.machine import Machine
from cxlab.run.options.option import Context, Effect, Option
from cxlab.run.size import parse_bytes
from cxlab.run.topology import Topology


@dataclass(frozen=True)
class Poison:
    """One poisoned line."""

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
        raise BadRequest(f"--poison {text}: this is not NODE=OFFSET, as in cxl=64M")
    offset = int(place) if place.isascii() and place.isdigit() else parse_bytes(place)
    node = machine.node(name)
    for window in topology.windows:
        if window.node == node.place:
            if offset >= window.size:
                raise BadRequest(
                    f"--poison {text}: the offset is beyond the end; valid: 0 to {window.size - 1} bytes"
                )
            return Poison(name, window.number, offset)
    raise BadRequest(f"--poison {text}: {name} is not on a CXL device. Add --cxl device, and name a CXL node")


#: Linux survives a machine check of an Intel server. QEMU's AMD processors lack SUCCOR: Linux panics.
SURVIVES = ("vendor=GenuineIntel", "family=6", "model=143", "stepping=8")


def _effect(texts: tuple[str, ...], context: Context) -> Effect:
    lines = [parse(text, context.machine, context.topology) for text in texts]
    return Effect(
        config={"poison": [asdict(line) for line in lines]},
        plugin=tuple(f"poison={line.window}:{line.offset}" for line in lines),
        processor=SURVIVES if lines and context.machine.processor.vendor == "amd" else (),
    )


OPTION: Option[tuple[str, ...]] = Option(
    "--poison",
    "Poison the line at this offset of a CXL node. A program that reads it gets SIGBUS. Repeatable.  "
    "[default: none]  "
    "Example: cxl=64M",
    {"multiple": True, "metavar": "NODE=OFFSET"},
    _effect,
)
