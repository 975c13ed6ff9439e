"""One line that says what the machine is doing; nothing at all where standard error is no terminal."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

#: Between two updates [s].
PERIOD = 0.25
CLEAR_LINE = b"\r\x1b[K"


@dataclass
class Progress:
    """The line; `hide` it before anything else is written to the terminal."""

    #: the model's results so far, where simulated time is read; None: there are none
    partial_summary: Path | None
    enabled: bool = field(default_factory=lambda: sys.stderr.isatty())
    phase: str = "booting"
    #: the program's last line is not complete: it stays as it is
    held: bool = False
    _since: float = field(default_factory=time.monotonic)
    _next: float = 0.0
    _shown: bool = False

    def enter(self, phase: str) -> None:
        """Begin a phase: its clock starts at 0."""
        self.phase = phase
        self._since = time.monotonic()
        self._next = 0.0

    def update(self) -> None:
        """Show the line, if it is time to."""
        now = time.monotonic()
        if not self.enabled or self.held or now < self._next:
            return
        self._next = now + PERIOD
        text = f"cxlab: {self.phase}, {now - self._since:.0f} s"
        simulated = self._simulated_seconds()
        if simulated is not None:
            text += f", simulated {simulated:.3f} s"
        os.write(2, CLEAR_LINE + text.encode())
        self._shown = True

    def hide(self) -> None:
        """Clear the line."""
        if self._shown:
            os.write(2, CLEAR_LINE)
            self._shown = False

    def _simulated_seconds(self) -> float | None:
        if self.partial_summary is None:
            return None
        try:
            return float(json.loads(self.partial_summary.read_bytes())["simulated_seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
