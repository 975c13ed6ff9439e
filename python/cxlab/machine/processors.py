"""How many processors the guest has, and how far apart in time they may be: options of ``cxlab run``."""

from __future__ import annotations

import re

from cxlab.machine.description import Machine
from cxlab.machine.errors import BadRequest

#: A record names its vCPU in three bits (crates/access/src/record.rs).
MOST_CPUS = 8
#: In picoseconds.
UNITS = {"ns": 10**3, "us": 10**6, "ms": 10**9}
#: Below, a turn is a few instructions; above, threads that wait for each other wait for the simulator [ps].
LEAST_SKEW_PS, MOST_SKEW_PS = 100 * UNITS["ns"], UNITS["ms"]


def parse_cpus(cpus: int, machine: Machine) -> int:
    """The number of processors, which the machine's socket has.

    Raises:
        BadRequest: it has not so many, or the simulator cannot.

    """
    most = min(MOST_CPUS, int(machine.resolved["host"]["cores"]))
    if not 1 <= cpus <= most:
        raise BadRequest(f"--cpus {cpus}: the guest on {machine.name} has 1 to {most} processors")
    return cpus


def parse_skew(text: str) -> int:
    """``2us`` in picoseconds.

    Raises:
        BadRequest: no time, or one that makes no sense.

    """
    match = re.fullmatch(r"([0-9]+) ?(ns|us|ms)", text)
    skew = int(match[1]) * UNITS[match[2]] if match else 0
    if not LEAST_SKEW_PS <= skew <= MOST_SKEW_PS:
        raise BadRequest(f"--skew {text}: a time from 100ns to 1ms is wanted, as in 2us")
    return skew
