"""Writes to standard error, which nobody may be reading. A failed write changes no exit status."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, TextIO, cast


class Lossy:
    """A stream whose failed writes are forgotten: a reader that has gone, a full disk."""

    def __init__(self, stream: TextIO) -> None:
        """Write to ``stream``."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, if that can be done."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, if that can be done."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        """All else is the stream's."""
        return getattr(self._stream, name)


def make_lossy() -> None:
    """Let no failed write to standard error end this process; where there is none, it goes nowhere."""
    stream = sys.stderr
    if stream is None:
        stream = open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = cast("TextIO", Lossy(stream))
