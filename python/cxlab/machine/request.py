"""What a run is asked to do, and what it gave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cxlab.machine import guest
from cxlab.machine.description import Machine
from cxlab.machine.errors import MachineError
from cxlab.machine.interruption import Interrupted
from cxlab.machine.poison import Poison
from cxlab.machine.retraining import Retraining
from cxlab.machine.sampling import Sample
from cxlab.machine.timeline import Timeline
from cxlab.machine.topology import Topology


@dataclass(frozen=True)
class Request:
    """Everything that a run depends on."""

    machine: Machine
    #: size of each node [bytes]
    node_bytes: tuple[int, ...]
    #: vCPUs, a core for each
    cpus: int
    #: how far a vCPU may be ahead of the one most behind [ps]
    skew_ps: int
    program: guest.Program
    #: all, marker, off
    detail: str
    kernel: Path
    initramfs: Path
    #: the guest copies written files here
    keep: Path | None = None
    #: which instructions are followed in detail; None: all
    sample: Sample | None = None
    #: caches and predictor are kept warm from the program's start to the first marker
    warm_up: bool = False
    #: the model writes the records it consumed here
    record: Path | None = None
    #: what is shown of a window of time
    timeline: Timeline | None = None
    #: the devices of the CXL nodes; empty where firmware describes them
    topology: Topology = field(default_factory=Topology)
    #: links that are trained anew
    retrainings: tuple[Retraining, ...] = ()
    #: poisoned lines
    poison: tuple[Poison, ...] = ()
    #: Linux tiers memory, and looks for hot pages so often [ms]; None: it does not
    scan_period_ms: int | None = None
    #: size of the disk for swap [bytes]; None: there is none
    swap_bytes: int | None = None
    #: the program's standard streams are this terminal
    terminal: bool = False
    #: the program is a placement controller: takes each line of its log
    steering: Callable[[bytes], None] | None = None

    def keeping(self, folder: Path | None) -> Request:
        """The same with a folder for written files."""
        return replace(self, keep=folder)


@dataclass
class Outcome:
    """What a run gave, complete or not."""

    #: how the program ended; None: it did not get that far
    exit: guest.Exit | None = None
    #: why the run is not complete
    failure: MachineError | Interrupted | None = None
    #: the model's results, as far as they go; None without detail
    simulated: dict[str, Any] | None = None
    #: the model's counters over simulated time, a list a column; None without detail
    series: dict[str, list[float]] | None = None
    #: every statistic of the machine's parts; None without detail or where the model was ended
    statistics: dict[str, Any] | None = None
    #: kernel release of the guest
    kernel: str | None = None
    #: CXL regions that the guest's Linux committed
    regions: tuple[guest.Region, ...] = ()
    #: host time from start to ready, from the program's start to its end, and in all [s]
    boot_seconds: float | None = None
    detail_seconds: float | None = None
    total_seconds: float = 0.0
    #: largest resident sets of QEMU and model together [MB]
    host_memory_mb: float = 0.0
    #: standard streams that broke, by name
    broken_streams: dict[str, OSError] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the program ran to its own end."""
        return self.failure is None
