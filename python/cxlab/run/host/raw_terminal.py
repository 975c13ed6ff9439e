"""Puts this terminal into raw mode for a guest: keys go through as they are. The old mode comes back at the
end."""

from __future__ import annotations

import os
import termios
import tty
from dataclasses import dataclass, field
from typing import Any

#: telnet's, for a guest that hears nothing any more.
ESCAPE = b"\x1d"


@dataclass
class RawTerminal:
    """Descriptor 0; raw from `enter` to `leave`."""

    _before: list[Any] | None = None
    _size: tuple[int, int] = field(default=(0, 0))

    def enter(self) -> None:
        """Signals, echo and lines become the guest's affair."""
        self._before = termios.tcgetattr(0)
        tty.setraw(0)

    def leave(self) -> None:
        """Put the terminal back as it was. May be called twice."""
        if self._before is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, self._before)
            self._before = None

    @staticmethod
    def size() -> tuple[int, int]:
        """Rows and columns."""
        size = os.get_terminal_size(0)
        return size.lines, size.columns

    def resized(self) -> tuple[int, int] | None:
        """The size, if it has changed since the last call."""
        size = self.size()
        if size == self._size:
            return None
        self._size = size
        return size
