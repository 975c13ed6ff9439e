"""Starts the controller in the guest: ``cxlab-caption run``, on the simulated machine's counters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cxlab.run.host import qemu

#: Ports by their names, as udev has them (crates/guest-init/src/steering.rs).
PORT = "/dev/virtio-ports/cxlab.{}"


@dataclass(frozen=True)
class Settings:
    """Settings of the controller. None stands for the controller's own default."""

    #: adaptive, paper, sweep
    mode: str
    #: of simulated time, with its unit, as in 1ms
    interval: str
    #: before the first sample, of simulated time
    delay: str
    #: share of CXL memory to start at, as in 50% or 1:1
    start: str | None = None
    #: for a sweep: the shares to hold, as in 0%,25%
    shares: str | None = None
    #: estimate, throughput
    objective: str | None = None
    #: a linear model made by ``cxlab-caption fit``
    model: Path | None = None
    #: resident pages are moved too, as fast as this, as in 1GB/s
    move_rate: str | None = None
    #: samples that a tuning needs
    least_samples: int | None = None
    #: samples left out after a change of the share
    settling_samples: int | None = None
    #: the run ends after so many samples, and the program with it
    most_samples: int | None = None

    def command(self, controller: Path, program: tuple[str, ...]) -> tuple[str, ...]:
        """The command that the guest executes."""
        given = {
            "--mode": self.mode,
            "--sample-interval": self.interval,
            "--delay": self.delay,
            "--start": self.start,
            "--shares": self.shares,
            "--objective": self.objective,
            "--model": None if self.model is None else str(self.model.absolute()),
            "--move-rate": self.move_rate,
            "--least-samples": self.least_samples,
            "--settling-samples": self.settling_samples,
            "--most-samples": self.most_samples,
            "--counters": PORT.format(qemu.COUNTERS),
            "--log": PORT.format(qemu.CAPTION_LOG),
        }
        options = [text for key, value in given.items() if value is not None for text in (key, str(value))]
        return (str(controller), "run", *options, "--", *program)
