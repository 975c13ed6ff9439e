"""Ctrl-C, SIGTERM, SIGHUP: an exception, but only at the places that say so."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """The user or the system asked for an end; exit status 128 + number."""

    def __init__(self, number: int) -> None:
        """Name the signal ``number``."""
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number


@dataclass
class Interruption:
    """While entered, the signals are remembered, and raised where `allowed`; the second one is not heard."""

    _received: int | None = None
    _raising: bool = False
    _previous: dict[int, Any] = field(default_factory=dict)

    def __enter__(self) -> Interruption:
        """Listen to the signals."""
        for number in SIGNALS:
            # nohup(1) ignores SIGHUP for a reason.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the previous handlers back."""
        for number, previous in self._previous.items():
            signal.signal(number, previous)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._received is None:
            self._received = number
            if self._raising:
                raise Interrupted(number)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Raise `Interrupted` in here, also for a signal that came before."""
        self._raising = True
        try:
            if self._received is not None:
                raise Interrupted(self._received)
            yield
        finally:
            self._raising = False
