"""What the machine is doing: one line on a terminal, written over; a line a minute in a log.

::

    cxlab: running, 12 s, 14.2 M instructions, 1.18 M/s, simulated 0.011 s, 1,100 times slower than real
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Struct

from cxlab.border import Instructions

#: Between two updates on a terminal, and between two lines of a log [s].
PERIOD = 0.25
LOG_PERIOD = 60.0
CLEAR_LINE = b"\r\x1b[K"


class _SoFar(Struct, frozen=True):
    """What is read of a partial summary."""

    simulated_seconds: float
    instructions: Instructions


@dataclass
class Progress:
    """The line; `hide` it before anything else is written to the terminal."""

    #: the model's results so far, where simulated time is read; None: there are none
    partial_summary: Path | None
    enabled: bool = True
    #: standard error is a terminal; else it is a log
    terminal: bool = field(default_factory=lambda: sys.stderr.isatty())
    phase: str = "booting"
    #: what is run of several, in front of each line
    of: str = ""
    #: the program's last line is not complete: it stays as it is
    held: bool = False
    _since: float = field(default_factory=time.monotonic)
    #: when the next line is due; None before the first look
    _next: float | None = None
    _shown: bool = False

    def enter(self, phase: str) -> None:
        """Begin a phase: its clock starts at 0."""
        self.phase = phase
        self._since = time.monotonic()
        if self.terminal:
            self._next = self._since

    def update(self) -> None:
        """Show the line, if it is time to."""
        now = time.monotonic()
        if self._next is None:
            self._next = now if self.terminal else now + LOG_PERIOD
        if not self.enabled or self.held or now < self._next:
            return
        self._next = now + (PERIOD if self.terminal else LOG_PERIOD)
        text = f"cxlab: {self.of}{self.phase}, {now - self._since:.0f} s{self._done(now - self._since)}"
        if self.terminal:
            os.write(2, CLEAR_LINE + text.encode())
            self._shown = True
        else:
            os.write(2, text.encode() + b"\n")

    def _done(self, host_seconds: float) -> str:
        """What has been simulated so far, and how fast."""
        so_far = self._so_far()
        if so_far is None or host_seconds <= 0:
            return ""
        instructions = (so_far.instructions.user + so_far.instructions.kernel) / 1e6
        text = f", {instructions:.1f} M instructions, {instructions / host_seconds:.2f} M/s"
        if so_far.simulated_seconds > 0:
            slower = host_seconds / so_far.simulated_seconds
            text += f", simulated {so_far.simulated_seconds:.3f} s, {slower:,.0f} times slower than real"
        return text

    def hide(self) -> None:
        """Clear the line."""
        if self._shown:
            os.write(2, CLEAR_LINE)
            self._shown = False

    def _so_far(self) -> _SoFar | None:
        if self.partial_summary is None:
            return None
        try:
            return msgspec.json.decode(self.partial_summary.read_bytes(), type=_SoFar)
        except (OSError, ValueError):
            return None
