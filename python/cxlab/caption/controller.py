"""Starts the controller in the guest: ``cxlab-caption run``, on the simulated machine's counters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cxlab.description import Description
from cxlab.run.errors import BadRequest
from cxlab.run.host import qemu
from cxlab.run.machine import Machine

#: Ports by their names, as udev has them (crates/guest-init/src/steering.rs).
PORT = "/dev/virtio-ports/cxlab.{}"


@dataclass(frozen=True)
class Steered:
    """Linux's numbers of the nodes whose weights the controller sets. It leaves the other socket alone."""

    ddr: tuple[int, ...]
    cxl: tuple[int, ...]

    @classmethod
    def of(cls, machine: Machine) -> Steered:
        """DDR and CXL memory of the programs' socket.

        Raises:
            BadRequest: the machine has none of one kind.

        """
        described = Description.of_document(machine.resolved).nodes
        near = [node for node in machine.nodes if not described[node.place].is_remote]
        linux = [(node.number, node.devices) for node in near if node.number is not None]
        ddr = tuple(number for number, devices in linux if devices is None)
        cxl = tuple(number for number, devices in linux if devices is not None)
        if not ddr or not cxl:
            missing = "CXL" if ddr else "DDR"
            raise BadRequest(
                f"{machine.name}: its own socket has no {missing} memory to place pages on. "
                "Name a machine with both, as `cxlab machines` lists them"
            )
        return cls(ddr, cxl)


def _list(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


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

    def command(self, controller: Path, steered: Steered, program: tuple[str, ...]) -> tuple[str, ...]:
        """The command that the guest executes."""
        given = {
            "--ddr": _list(steered.ddr),
            "--cxl": _list(steered.cxl),
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
