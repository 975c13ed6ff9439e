"""The request for a run, and its outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from cxlab.border import RunResult
from cxlab.error import MachineError
from cxlab.run.guest import protocol as guest
from cxlab.run.guest.checkpoint import Checkpoint
from cxlab.run.interruption import Interrupted
from cxlab.run.machine import Machine
from cxlab.run.options import date
from cxlab.run.options.bounds import Bounds
from cxlab.run.options.disk import Content
from cxlab.run.options.option import Effect
from cxlab.run.options.timeline import Timeline
from cxlab.run.topology import Topology


@dataclass(frozen=True)
class Request:
    """Everything that a run depends on."""

    machine: Machine
    #: size of each node [bytes]
    node_bytes: tuple[int, ...]
    #: vCPUs, a core for each
    cpus: int
    program: guest.Program
    #: all, marker, off
    detail: str
    kernel: Path
    initramfs: Path
    #: where timing begins, and what ends the run ahead of its program
    bounds: Bounds = field(default_factory=Bounds)
    #: the guest copies written files here
    keep: Path | None = None
    #: what options change that concern one process alone
    effect: Effect = field(default_factory=Effect)
    #: the model writes the records it consumed here
    record: Path | None = None
    #: what is shown of a window of time
    timeline: Timeline | None = None
    #: the model keeps what waits for memory, in the run's folder
    profile: bool = False
    #: the devices of the CXL nodes; empty where firmware describes them
    topology: Topology = field(default_factory=Topology)
    #: what the guest has on the drive; None: it has no disk
    disk: Content | None = None
    #: the guest's when the run begins [s since 1970]
    date: int = field(default_factory=date.now)
    #: the run is ended after this much of the host's time [s]; None: there is no limit
    timeout_seconds: float | None = None
    #: the guest begins where Linux is up, in a state that was saved before
    saved_boot: bool = True
    #: the program goes on from this checkpoint
    checkpoint: Checkpoint | None = None
    #: the program's standard streams are this terminal
    terminal: bool = False
    #: descriptors that the program's standard output and error are written to
    outputs: tuple[int, int] = (1, 2)
    #: the program is a placement controller: takes each line of its log
    steering: Callable[[bytes], None] | None = None

    def keeping(self, folder: Path) -> Request:
        """Return this request with a folder for written files."""
        return replace(self, keep=folder)


@dataclass
class Outcome:
    """Outcome of a run, complete or not."""

    #: how the program ended; None: it did not get that far
    exit: guest.Exit | None = None
    #: why the run is not complete
    failure: MachineError | Interrupted | None = None
    #: the option that ended the run ahead of its program; None: the program came to its own end
    bound: str | None = None
    #: the model's results, as far as they go; None without detail
    simulated: RunResult | None = None
    #: kernel release of the guest
    kernel: str | None = None
    #: CXL regions that the guest's Linux committed
    regions: tuple[guest.Region, ...] = ()
    #: host time from start to ready, from the program's start to its end, and in all [s]
    boot_seconds: float | None = None
    detail_seconds: float | None = None
    total_seconds: float = 0.0
    #: what the user should know: a file that was asked for and is not there, say
    notices: list[str] = field(default_factory=list)
    #: largest resident sets of QEMU and model together [MB]
    host_memory_mb: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether the program ran to its own end, or to the bound that was asked for."""
        return self.failure is None
