"""How far apart in time vCPUs may run (``--skew``), and what that does to threads that wait for each other.

Prints the simulated time of a turn, for skews from 0.2 us to 20 us. Two threads hand a number to and fro, or
are a producer and a consumer, or meet at a spin lock, with PAUSE and without. Below stand the bounds,
from the same loops on one vCPU, where nobody waits and no line changes cores::

    relay   the work of a round; each of its two hand-overs moves the line twice and is noticed a PAUSE late
    ring    half of what one thread takes for both sides, if they overlap wholly; all of it, if not at all,
            and a line each way for what is put, what is taken, and both counts
    lock    a turn; at most another's turn before it, noticed a PAUSE late; lock and count change cores

About three minutes on a quiet machine of two cores.
"""

from __future__ import annotations

from pathlib import Path

from experiments import guests
from experiments.experiment import Asked, Report, real
from experiments.report import Column, Table

SUBJECT = real("relay and lock, two threaded programs of the tests, on Linux in the guest")
SKEWS, QUICK_SKEWS = ("200ns", "500ns", "1us", "2us", "5us", "10us", "20us"), ("2us",)
TURNS, QUICK_TURNS = 20_000, 2_000
#: What PAUSE makes a thread wait (crates/access/src/record.rs) [ns].
PAUSE = 36.8
#: A line from another core's cache, at most: an LLC hit, and the snoop's way there and back, 20 ns each
#: (data/hosts/xeon-8468v.toml) [ns].
TRANSFER = 33 + 2 * 20


def turns_of(folder: Path, name: str, cpus: int, turns: int, *options: str) -> tuple[list[float], float]:
    """The four programs in one guest: the time of a turn of each [ns], and instructions a second."""
    alone = "alone " if cpus == 1 else ""
    lock, relay = guests.build(folder, "lock"), guests.build(folder, "relay")
    locks = [f"{lock} {kind} {cpus} {turns}" for kind in ("ring", "spin", "hard")]
    script = "; ".join([f"{relay} {alone}{turns // 10}", *locks])
    given = ["--detail", "marker", "--cpus", str(cpus), *options]
    said, ran = guests.run(folder, name, given, ["sh", "-c", script])
    speed = (ran.instructions.user + ran.instructions.kernel) / ran.host_seconds.detail
    return [float(line.split()[-1]) for line in said.splitlines()], speed


def measure(asked: Asked) -> Report:
    """A row a skew, then the bounds."""
    turns = QUICK_TURNS if asked.quick else TURNS
    rows: list[tuple[str | float | None, ...]] = []
    for skew in QUICK_SKEWS if asked.quick else SKEWS:
        times, speed = turns_of(asked.folder, skew, 2, turns, "--skew", skew)
        rows.append((skew, *times, speed / 1e6))
    (relay, ring, spin, hard), _ = turns_of(asked.folder, "alone", 1, turns)
    rows.append(("at least", relay, ring / 2, spin, hard, None))
    moved = 4 * TRANSFER
    most = (relay + moved + 2 * PAUSE, ring + moved, 2 * spin + moved + PAUSE, 2 * hard + moved)
    rows.append(("at most", *most, None))
    headings = ("relay [ns]", "ring [ns]", "lock, PAUSE [ns]", "lock [ns]", "speed [10^6 instructions/s]")
    columns = [Column("skew"), *(Column(heading, "{:.2f}") for heading in headings)]
    return Report([Table("simulated time of a turn, and the speed of this run", columns, rows)])
