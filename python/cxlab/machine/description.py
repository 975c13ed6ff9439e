"""The machine as the model describes it: nodes with their figures, the host processor."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from cxlab.machine.errors import BadRequest, NotBuilt


class Model(Protocol):
    """The model's door into Python, ``cxlab._model`` (crates/py)."""

    CxlabError: type[Exception]

    def machine_names(self) -> list[str]:
        """Names of the machines that come with CXLab."""
        ...

    def load_machine(self, name_or_path: str) -> str:
        """Read and resolve a machine: JSON."""
        ...

    def shipped_file(self, path: str) -> str | None:
        """The text of a file that comes with CXLab, by its path in ``data/``."""
        ...

    def stages(self) -> list[tuple[str, str]]:
        """Where a request's time can go, in the order of its way: (name in results, what happens there)."""
        ...

    def ring_bytes(self) -> int:
        """Size of the shared-memory ring [bytes]."""
        ...

    def simulate(self, job: str) -> str:
        """Run the model on a job (JSON) until QEMU ends; the summary (JSON)."""
        ...

    def bench_point(self, job: str) -> str:
        """Run one point of a bench (JSON); the point (JSON)."""
        ...

    def run_study(self, job: str) -> str:
        """Run applications under an operating system (JSON); an interval (JSON)."""
        ...

    def run_caption(self, job: str, heard: Callable[[str], None]) -> str:
        """Have Caption steer applications (JSON); its executions (JSON)."""
        ...

    def validation_figures(self) -> str:
        """Silicon's figures that come with CXLab (validation/points.toml): TOML."""
        ...

    def replay(self, job: str) -> str:
        """Run the model on a recorded trace (a job, JSON); the summary (JSON)."""
        ...


def model() -> Model:
    """The compiled model.

    Raises:
        NotBuilt: the extension module has not been built.

    """
    try:
        return cast(Model, importlib.import_module("cxlab._model"))
    except ImportError as error:
        raise NotBuilt(f"the timing model is not built ({error}): run `make build`") from None


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
    #: everything, as the model gave it
    resolved: dict[str, Any]

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
    return from_json(name_or_path, model().load_machine(name_or_path))


def from_json(asked: str, text: str) -> Machine:
    """The machine in the model's words."""
    resolved = json.loads(text)
    nodes = tuple(_node(place, node) for place, node in enumerate(resolved["nodes"]))
    return Machine(asked, resolved["name"], nodes, int(resolved["host"]["tsc_hz"]), resolved)


#: CXL 2.0, 8.2.5.12: the finest; one device is not interleaved at all, and Linux wants a value all the same.
FINEST_GRANULARITY = 256


def _node(place: int, node: dict[str, Any]) -> Node:
    devices = None
    if node["kind"] == "cxl":
        devices = Devices(node["devices"], node["granularity_bytes"] or FINEST_GRANULARITY)
    return Node(node["name"], place, place, float(node["latency_ns"]), float(node["bandwidth_gb_s"]), devices)
