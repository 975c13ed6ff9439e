"""Watches whether QEMU and the model still do anything.

::

    /proc/PID/stat of both --> stopped for a while, or neither has used a processor for longer --> Stalled

A guest that sleeps is busy: its clock jumps from timer to timer. Time in which the supervisor itself was
stopped does not count.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cxlab.run.errors import Stalled
from cxlab.run.host.process import Process

#: Longer than anybody stops a process to look at it without a debugger [s].
MOST_STOPPED_SECONDS = 30.0
#: The longest silence seen while a busy host pages is a few seconds [s].
MOST_SILENT_SECONDS = 120.0
#: Between two looks at the clock of a supervisor that was not stopped itself, and at its processes [s].
MOST_BETWEEN_LOOKS = 1.0


@dataclass
class Clock:
    """Time in which this process could do something [s]."""

    seconds: float = 0.0
    _looked: float = field(default_factory=time.monotonic)

    def look(self) -> float:
        """Time so far; since the last look, no more than a look takes."""
        now = time.monotonic()
        self.seconds += min(now - self._looked, MOST_BETWEEN_LOOKS)
        self._looked = now
        return self.seconds


@dataclass
class Liveness:
    """Observations of the processes of a run."""

    clock: Clock
    _worked: float = 0.0
    _looked: float = -MOST_BETWEEN_LOOKS
    _used: dict[str, int] = field(default_factory=dict)
    #: since when a process is stopped
    _stopped: dict[str, float] = field(default_factory=dict)

    def look(self, processes: Mapping[str, Process], *, awaits_input: bool) -> None:
        """Look at the processes by their names.

        Raises:
            Stalled: one is stopped, or none does anything though no input is awaited.

        """
        now = self.clock.seconds
        if now - self._looked < MOST_BETWEEN_LOOKS:
            return
        self._looked = now
        for name, process in processes.items():
            with suppress(FileNotFoundError, ProcessLookupError):
                self._look_at(name, process.pid, now)
        if awaits_input:
            self._worked = now
        if now - self._worked > MOST_SILENT_SECONDS:
            names = " and ".join(processes)
            raise Stalled(
                f"{names} used no processor for {MOST_SILENT_SECONDS:.0f} s, and no input is awaited: "
                "the run was ended. Run it again; `cxlab report-bug` packs what a maintainer needs"
            )

    def _look_at(self, name: str, pid: int, now: float) -> None:
        # Behind the command's name, which may hold anything: the state, 10 fields, two times (proc(5)).
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        state, used = fields[0], int(fields[11]) + int(fields[12])
        if used != self._used.get(name):
            self._used[name], self._worked = used, now
        if state != b"T":
            self._stopped.pop(name, None)
        elif now - self._stopped.setdefault(name, now) > MOST_STOPPED_SECONDS:
            raise Stalled(
                f"{name} (process {pid}) was stopped by a signal for {MOST_STOPPED_SECONDS:.0f} s: the run "
                "was ended; send it SIGCONT in time to let it go on"
            )
