"""The document of ``cxlab workload run --json``: the command writes it, and experiments read it.

run of each seed --> Written --> file --> read
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from cxlab import model
from cxlab.border import NodeSummary
from cxlab.workload.description import Value


class Measured(Struct, frozen=True):
    """A measure of a workload."""

    unit: str
    #: a value for each seed
    seeds: list[float]


class Ran(Struct, frozen=True):
    """Counters of the model in the run of a seed."""

    seed: int
    instructions: int
    simulated_s: float
    ipc: float
    nodes: dict[str, NodeSummary]

    @property
    def instructions_per_second(self) -> float:
        """Instructions of all cores in each simulated second."""
        return self.instructions / self.simulated_s

    @property
    def bandwidth_gb_s(self) -> float:
        """Bytes that all memories read and wrote, over the simulated time."""
        return sum(node.bandwidth_mb_s for node in self.nodes.values()) / 1e3

    def miss_ns(self, *nodes: str) -> float:
        """Mean time of a miss to these nodes, or to any [ns]."""
        chosen = [self.nodes[name] for name in nodes or self.nodes]
        loads = sum(node.loads for node in chosen)
        waited = sum(node.loads * _after_the_fill_buffer(node.stages_ns) for node in chosen)
        return waited / loads


def _after_the_fill_buffer(stages: Mapping[str, float]) -> float:
    """Intel counts an L1 miss from where a load has its fill buffer, which ends its stages in the core."""
    return sum(time for stage, time in stages.items() if stage not in model.core_stages())


class Written(Struct, frozen=True):
    """The document."""

    size: str
    workload: str
    subject: str
    values: dict[str, Value]
    machine: str
    #: settings of the command line that changed the machine
    set: list[str]
    placement: str
    measures: dict[str, Measured]
    runs: list[Ran]


def read(file: Path) -> Written:
    """Read a document that this CXLab wrote."""
    return msgspec.json.decode(file.read_bytes(), type=Written)
