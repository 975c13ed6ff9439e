"""What the machine is doing: one line on a terminal, written over; a line a minute in a log.

::

    cxlab: running, 12 s, 14.2 M instructions, 1.18 M/s, simulated 0.011 s, 1,100 times slower than real

Of a sampled run, simulated time is what its windows tell. Where the end is known (of a trace, with --until,
after a run of the same program), the line says how much is done and how long the rest takes too:

    cxlab: replaying, 12 s, ..., 1,100 times slower than real, 41 % of the trace, about 17 seconds left
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Struct

from cxlab.border import Instructions, RunResult, SoFar
from cxlab.output import duration

#: Between two updates on a terminal, and between two lines of a log [s].
PERIOD = 0.25
LOG_PERIOD = 60.0
CLEAR_LINE = b"\r\x1b[K"
#: Before a run has lasted for so long, its speed says little of the rest [s].
TELLING = 1.0
#: A model that has executed fewer instructions since its last report waited for a region of detail meanwhile.
WORKING = 1000


class _PartialSummary(Struct, frozen=True):
    """What is read of one."""

    so_far: SoFar


@dataclass(frozen=True)
class Goal:
    """Where a live run ends, as far as anybody knows: one of these."""

    #: as a line names it after a percentage
    name: str
    instructions: int | None = None
    simulated_seconds: float | None = None

    @classmethod
    def of_earlier(cls, what: str, earlier: RunResult) -> Goal:
        """As many instructions as an earlier run of the same program executed."""
        return cls(f"an earlier {what}'s instructions", instructions=_all(earlier.instructions))

    def share(self, so_far: SoFar) -> float | None:
        """How much of it is done, 0 to 1; None: that cannot be told."""
        if self.instructions:
            return min(1.0, _all(so_far.instructions) / self.instructions)
        if self.simulated_seconds and so_far.simulated_seconds is not None:
            return min(1.0, so_far.simulated_seconds / self.simulated_seconds)
        return None


@dataclass
class _Work:
    """What the model has said, and in which host time it did it."""

    first: SoFar | None = None
    last: SoFar | None = None
    #: when the last one came
    at: float = 0.0
    #: between the first one and the last, without waiting for a region of detail
    host_seconds: float = 0.0
    #: the first simulated time that was said, and the host's seconds until then
    timed: tuple[float, float] | None = None

    def learn(self, so_far: SoFar, now: float) -> None:
        """Take a report."""
        if so_far == self.last:
            return
        if self.first is None or self.last is None:
            self.first = so_far
        elif _all(so_far.instructions) - _all(self.last.instructions) >= WORKING:
            self.host_seconds += now - self.at
        if self.timed is None and so_far.simulated_seconds is not None:
            self.timed = so_far.simulated_seconds, self.host_seconds
        self.last, self.at = so_far, now

    def text(self, goal: Goal | None) -> str:
        """What has been simulated so far, how fast, and what is left."""
        if self.first is None or self.last is None:
            return ""
        executed = _all(self.last.instructions)
        text = f", {executed / 1e6:.1f} M instructions"
        if self.host_seconds > 0:
            speed = (executed - _all(self.first.instructions)) / self.host_seconds
            text += f", {speed / 1e6:.2f} M/s{self._slowdown(self.last)}"
        return text + self._left(self.first, self.last, goal)

    def _slowdown(self, last: SoFar) -> str:
        if self.timed is None or last.simulated_seconds is None:
            return ""
        begun, before = self.timed
        seconds = last.simulated_seconds - begun
        if seconds <= 0:
            return ""
        about = "about " if last.sampled else ""
        slower = f"{(self.host_seconds - before) / seconds:,.0f} times slower than real"
        return f", simulated {about}{last.simulated_seconds:.3f} s, {about}{slower}"

    def _left(self, first: SoFar, last: SoFar, goal: Goal | None) -> str:
        """How much is done, and how long the rest takes at the speed so far."""
        before, share, what = first.trace_read, last.trace_read, "the trace"
        if goal is not None:
            before, share, what = goal.share(first), goal.share(last), goal.name
        if before is None or share is None:
            return ""
        text = f", {100 * share:.0f} % of {what}"
        if before < share < 1 and self.host_seconds >= TELLING:
            text += f", about {duration(self.host_seconds * (1 - share) / (share - before))} left"
        return text


def _all(instructions: Instructions) -> int:
    return instructions.user + instructions.kernel


@dataclass
class Progress:
    """The line; `hide` it before anything else is written to the terminal."""

    #: the model's results so far, which are read for each line; None: `learn` is told of them
    partial_summary: Path | None
    enabled: bool = True
    #: standard error is a terminal; else it is a log
    terminal: bool = field(default_factory=lambda: sys.stderr.isatty())
    phase: str = "booting"
    #: what is run of several, in front of each line
    of: str = ""
    #: of a run whose end is known; a trace knows its own
    goal: Goal | None = None
    #: the program's last line is not complete: it stays as it is
    held: bool = False
    _since: float = field(default_factory=time.monotonic)
    #: when the next line is due; None before the first look
    _next: float | None = None
    _shown: bool = False
    _work: _Work = field(default_factory=lambda: _Work())

    def enter(self, phase: str) -> None:
        """Begin a phase: its clock starts at 0."""
        self.phase = phase
        self._since = time.monotonic()
        if self.terminal:
            self._next = self._since

    def learn(self, so_far: SoFar) -> None:
        """Take what the model says of itself."""
        self._work.learn(so_far, time.monotonic())

    def update(self) -> None:
        """Show the line, if it is time to."""
        now = time.monotonic()
        self._look(now)
        if self._next is None:
            self._next = now if self.terminal else now + LOG_PERIOD
        if not self.enabled or self.held or now < self._next:
            return
        self._next = now + (PERIOD if self.terminal else LOG_PERIOD)
        text = f"cxlab: {self.of}{self.phase}, {now - self._since:.0f} s{self._work.text(self.goal)}"
        if self.terminal:
            os.write(2, CLEAR_LINE + text.encode())
            self._shown = True
        else:
            os.write(2, text.encode() + b"\n")

    def _look(self, now: float) -> None:
        if self.partial_summary is None:
            return
        with suppress(OSError, ValueError):
            found = msgspec.json.decode(self.partial_summary.read_bytes(), type=_PartialSummary)
            self._work.learn(found.so_far, now)

    def hide(self) -> None:
        """Clear the line."""
        if self._shown:
            os.write(2, CLEAR_LINE)
            self._shown = False
