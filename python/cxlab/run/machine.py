"""The machine as the model describes it: nodes with their figures, the host processor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cxlab import model
from cxlab.border import DriveFigures, MachineFigures, NodeFigures, ProcessorFigures
from cxlab.description import Description
from cxlab.run.errors import BadRequest


@dataclass(frozen=True)
class Devices:
    """The type-3 devices that a node's memory is on."""

    count: int
    #: bytes in a row on one of them
    granularity: int


@dataclass(frozen=True)
class Node:
    """The memory of one kind of place, which Linux sees as a NUMA node."""

    #: as options and results call it
    name: str
    #: place in the machine's file, from 0
    place: int
    #: Linux's node number; None: a program manages the memory, it is no node
    number: int | None
    #: load-to-use latency without load [ns]
    latency_ns: float
    #: peak bandwidth [GB/s], decimal
    bandwidth_gb_s: float
    #: None: the memory is on the socket's own channels
    devices: Devices | None = None


@dataclass(frozen=True)
class Machine:
    """A resolved machine."""

    #: as asked for: a name, or the path of a file
    asked: str
    name: str
    nodes: tuple[Node, ...]
    #: frequency of the guest's time stamp counter [Hz]
    tsc_hz: int
    #: of the cores
    frequency_ghz: float
    #: processors of a socket
    cores: int
    #: what CPUID says
    processor: ProcessorFigures
    #: the SSD under the guest's disk; None: the machine has no drive
    drive: DriveFigures | None
    #: everything, as the model gave it: for config.json
    resolved: dict[str, Any]

    def link(self, node: Node) -> tuple[str, str]:
        """Width and rate of the CXL links of a node, as in x8 and 32 GT/s."""
        link = Description.of_document(self.resolved).nodes[node.place].link
        assert link is not None, f"{node.name} is not behind CXL"
        return link

    def node(self, name: str) -> Node:
        """The node called ``name``.

        Raises:
            BadRequest: there is none.

        """
        for node in self.nodes:
            if node.name == name:
                return node
        valid = ", ".join(node.name for node in self.nodes)
        raise BadRequest(f"the machine {self.name} has no node '{name}'; it has: {valid}")


def load(name_or_path: str) -> Machine:
    """Read a machine through the model."""
    return from_figures(name_or_path, model.describe(name_or_path))


def from_figures(asked: str, figures: MachineFigures) -> Machine:
    """The machine in the model's words."""
    nodes = tuple(_node(place, node) for place, node in enumerate(figures.nodes))
    host = figures.host
    return Machine(
        asked,
        figures.name,
        nodes,
        host.tsc_hz,
        host.frequency_ghz,
        host.cores,
        host.processor,
        figures.drive,
        model.document(figures),
    )


#: CXL 2.0, 8.2.5.12: the finest; one device is not interleaved at all, and Linux wants a value all the same.
FINEST_GRANULARITY = 256


def _node(place: int, node: NodeFigures) -> Node:
    devices = None
    if node.kind == "cxl":
        devices = Devices(node.devices, node.granularity_bytes or FINEST_GRANULARITY)
    return Node(node.name, place, place, node.latency_ns, node.bandwidth_gb_s, devices)
