"""Tries: what is done to which process of which mode, and when, drawn from a seed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from modes import SUPERVISOR, Mode

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL, signal.SIGSTOP)
#: What is done beside signals: the disk of the results or of the cache is full from a random page on.
FULL = "FULL"
#: What may be done to a run. Only root may mount a disk to fill.
EVENTS = (*(one.name for one in SIGNALS), *((FULL,) if os.geteuid() == 0 else ()))


@dataclass(frozen=True)
class Try:
    """One disturbance: its mode, target, signal and moment."""

    number: int
    mode: str
    target: str
    signal: str
    #: fraction of the undisturbed run's length; a target that is not there yet is waited for
    moment: float

    @property
    def kills_the_supervisor(self) -> bool:
        """Whether nobody is left to clean up."""
        return self.signal == "SIGKILL" and self.target == SUPERVISOR

    def text(self) -> str:
        """The try in words, for a journal."""
        return f"{self.signal} to {self.target} at {self.moment:.0%}"


def tries(seed: int, count: int, modes: tuple[Mode, ...]) -> Iterator[Try]:
    """Draw the tries of a seed: modes take turns, all else is random. A lower count gives the first ones."""
    for number in range(count):
        random = Random(f"{seed} {number}")
        mode = modes[number % len(modes)]
        chosen, moment = random.choice(EVENTS), random.random()
        targets = mode.disks if chosen == FULL else mode.targets
        yield Try(number, mode.name, random.choice(targets), chosen, moment)
