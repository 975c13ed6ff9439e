"""Options for the number of vCPUs, and for the time that they may be apart."""

from __future__ import annotations

from cxlab.run.errors import BadRequest
from cxlab.run.machine import Machine
from cxlab.run.options.option import Context, Effect, Option
from cxlab.run.simulated_time import UNITS, parse_ps

#: A record names its vCPU in six bits (crates/access/src/record.rs).
MOST_CPUS = 64
#: Above, threads that wait for each other wait for the simulator [ps].
MOST_SKEW_PS = UNITS["ms"]


def parse_cpus(cpus: int, machine: Machine) -> int:
    """The number of processors, which the machine's socket has.

    Raises:
        BadRequest: it has not so many, or the simulator cannot.

    """
    most = min(MOST_CPUS, machine.cores)
    if not 1 <= cpus <= most:
        raise BadRequest(
            f"--cpus {cpus}: the machine {machine.name} cannot have that many; valid: 1 to {most}"
        )
    return cpus


def parse_skew(text: str) -> int:
    """``2us`` in picoseconds.

    Raises:
        BadRequest: no time, or one that makes no sense.

    """
    skew = parse_ps(text)
    if skew is None or skew > MOST_SKEW_PS:
        raise BadRequest(f"--skew {text}: this is out of range; valid: 0ns to 1ms, as in 2us")
    return skew


CPUS: Option[int] = Option(
    "--cpus",
    "Number of processors of the guest, 1 to 64.  Example: 4",
    {"type": int, "default": 1, "show_default": True, "metavar": "N"},
)


def _skew(text: str, _: Context) -> Effect:
    skew_ps = parse_skew(text)
    return Effect(config={"skew_ns": skew_ps / 1000}, plugin=(f"skew={skew_ps}",))


#: A turn of 2 us costs the host little, and is short against what threads wait for each other.
SKEW: Option[str] = Option(
    "--skew",
    "Simulated time that one processor may be ahead of another, 0ns to 1ms. A shorter time orders their "
    "accesses more exactly, and runs slower. With 0ns a turn is 100 instructions at most.  Example: 500ns",
    {"default": "2us", "show_default": True, "metavar": "TIME"},
    _skew,
)
