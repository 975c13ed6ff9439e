"""Shows what the machine is doing: one line on a terminal, written over, or a line a minute in a log.

::

    cxlab: running, 12 s, 14.2 M instructions, 1.18 M/s, ..., 1,100 times slower than real, end not known

The simulated time of a sampled run is what its windows tell. If the end is known, the line says how much is
done and how long the rest takes. It is known of a trace, with --until, and after a run of the same program.

    cxlab: replaying, 12 s, ..., 1,100 times slower than real, 41 % of the trace, about 17 seconds left

On a terminal the line takes one row, because a row that has wrapped cannot be written over. If the row is too
short, parts of the line take their short forms:

    cxlab: column 2 of 3, cxl: 12 s, 14.2 M, 1.18 M/s, 1,100x slower, 17 s left
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
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
#: Timed instructions after which a run is called long: a minute or two of detail.
LONG = 100_000_000
#: Units of a duration in a short row, by their first letter.
SHORT = {"s": "s", "m": "min", "h": "h"}
#: A model that has executed fewer instructions since its last report waited for a region of detail meanwhile.
WORKING = 1000


class _PartialSummary(Struct, frozen=True):
    """Fields that are read of a partial summary."""

    so_far: SoFar


@dataclass(frozen=True)
class Goal:
    """The known end of a live run: one of these."""

    #: as a line names it after a percentage
    name: str
    instructions: int | None = None
    simulated_seconds: float | None = None

    @classmethod
    def of_earlier(cls, what: str, earlier: RunResult) -> Goal:
        """Make a goal of the instructions that an earlier run of the program executed."""
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
    """The model's last word, and the host time that it took."""

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

    @property
    def executed(self) -> int:
        """Number of instructions so far."""
        return 0 if self.last is None else _all(self.last.instructions)

    def parts(self, goal: Goal | None) -> Iterator[_Part]:
        """Return the parts of the line: what has been simulated so far, how fast, and what is left."""
        if self.first is None or self.last is None:
            return
        yield _Part(f"{self.executed / 1e6:.1f} M instructions", f"{self.executed / 1e6:.1f} M")
        if self.host_seconds > 0:
            speed = (self.executed - _all(self.first.instructions)) / self.host_seconds
            yield _Part(f"{speed / 1e6:.2f} M/s")
            yield from self._slowdown(self.last)
        yield from self._left(self.first, self.last, goal)

    def _slowdown(self, last: SoFar) -> Iterator[_Part]:
        if self.timed is None or last.simulated_seconds is None:
            return
        begun, before = self.timed
        seconds = last.simulated_seconds - begun
        if seconds <= 0:
            return
        about = "about " if last.sampled else ""
        slower = f"{(self.host_seconds - before) / seconds:,.0f}"
        yield _Part(f"simulated {about}{last.simulated_seconds:.3f} s", "")
        yield _Part(f"{about}{slower} times slower than real", f"{slower}x slower")

    def _left(self, first: SoFar, last: SoFar, goal: Goal | None) -> Iterator[_Part]:
        """How much is done, and how long the rest takes at the speed so far."""
        before, share, what = first.trace_read, last.trace_read, "the trace"
        if goal is not None:
            before, share, what = goal.share(first), goal.share(last), goal.name
        if before is None or share is None:
            yield UNKNOWN_END
            return
        knows_the_rest = before < share < 1 and self.host_seconds >= TELLING
        yield _Part(f"{100 * share:.0f} % of {what}", "" if knows_the_rest else f"{100 * share:.0f} %")
        if knows_the_rest:
            rest = duration(self.host_seconds * (1 - share) / (share - before))
            number, unit = rest.split()
            yield _Part(f"about {rest} left", f"{number} {SHORT[unit[0]]} left")


@dataclass(frozen=True)
class _Part:
    """A part of the line."""

    text: str
    #: where the row is too short; None: there is no shorter form; empty: the part is left out
    short: str | None = None


UNKNOWN_END = _Part("end not known")
#: The phase after the program's end.
FINISHING = "finishing"


def _line(name: str, parts: Sequence[_Part], columns: int | None) -> str:
    """Join all parts. Parts take their short form, the last one first, until the line fits; then cut it."""
    chosen = [part.text for part in parts]
    for place, part in reversed(list(enumerate(parts))):
        if columns is None or len(name + ", ".join(text for text in chosen if text)) <= columns:
            break
        if part.short is not None:
            chosen[place] = part.short
    return (name + ", ".join(text for text in chosen if text))[:columns]


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
    #: said once, after `LONG` instructions of which nobody knows how many follow
    advice: str | None = None
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
        self._advise()
        phase = _Part(self.phase, "" if self.of else None)
        parts = [phase, _Part(f"{now - self._since:.0f} s"), *self._work.parts(self.goal)]
        if self.phase == FINISHING:
            parts = [part for part in parts if part != UNKNOWN_END]
        if self.terminal:
            os.write(2, CLEAR_LINE + _line(f"cxlab: {self.of}", parts, _columns()).encode())
            self._shown = True
        else:
            os.write(2, _line(f"cxlab: {self.of}", parts, None).encode() + b"\n")

    def _advise(self) -> None:
        """Say that the run is long, if nobody knows its end."""
        if self.advice is None or self.goal is not None or self._work.executed < LONG:
            return
        self.hide()
        os.write(2, f"cxlab: {LONG // 10**6} M instructions are timed so far. {self.advice}\n".encode())
        self.advice = None

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


def _columns() -> int:
    """Characters of the terminal's row, less the last one: a terminal wraps there."""
    with suppress(OSError):
        if (columns := os.get_terminal_size(2).columns) > 1:
            return columns - 1
    return 79
