"""How far apart in time vCPUs may run (``--skew``), and what that does to threads that wait for each other.

Prints the simulated time of a turn, for skews from 0.2 us to 20 us. Two threads hand a number to and fro, or
are a producer and a consumer, or meet at a spin lock, with PAUSE and without. Below stand the bounds,
from the same loops on one vCPU, where nobody waits and no line changes cores::

    relay   the work of a round; each of its two hand-overs moves the line twice and is noticed a PAUSE late
    ring    half of what one thread takes for both sides, if they overlap wholly; all of it, if not at all,
            and a line each way for what is put, what is taken, and both counts
    lock    a turn; at most another's turn before it, noticed a PAUSE late; lock and count change cores

The second table has many vCPUs, each skew beside the exact order, which a skew of 0 is. A lock goes from one
thread to the next, threads meet at MERCI's barrier, which spins with PAUSE, and a lock has no PAUSE. Threads
of embedding reduction share a memory, not a lock. The third table has the simulated time of three programs on
four vCPUs: STREAM's triad, xz, and accounts behind spin locks.

About ten minutes on a quiet machine of two cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments import guests, workloads
from experiments.experiment import Asked, Report, real
from experiments.measures import EMBEDDING
from experiments.report import Cell, Column, Table
from experiments.studies.sampling_of_several import READY, XZ

SUBJECT = real("threaded programs of the tests, embedding and xz, on Linux in the guest")
SKEWS, QUICK_SKEWS = ("200ns", "500ns", "1us", "2us", "5us", "10us", "20us"), ("2us",)
TURNS, QUICK_TURNS = 20_000, 2_000
#: What PAUSE makes a thread wait (crates/access/src/record.rs) [ns].
PAUSE = 36.8
#: A line from another core's cache, at most: an LLC hit, and the snoop's way there and back, 20 ns each
#: (data/hosts/xeon-8468v.toml) [ns].
TRANSFER = 33 + 2 * 20


#: vCPUs, and turns of each at the lock and the barrier.
MANY, QUICK_MANY = ((16, 100), (48, 24)), ((16, 12),)
#: The exact order, and skews beside it.
EXACT = "0ns"
SKEWS_OF_MANY, QUICK_SKEWS_OF_MANY = ("200ns", "2us", "20us"), ("2us",)
#: Rows of embedding's table, 64 MiB; queries of each thread, and rows of each.
ROWS, QUERIES, PER_QUERY = 1 << 18, 6, 80
#: Skews between which a program's time is to stay, and what is to be the most [%].
SKEWS_OF_PROGRAMS, WANTED = ("200ns", "2us"), 2.0
LINES, MOVES, BYTES = 6_000, 10_000, 6_000_000


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


def times_of_many(folder: Path, skew: str, cpus: int, turns: int) -> list[float]:
    """Times of a turn at the lock, a round of the barrier, a turn without PAUSE, and a query [ns]."""
    lock, embedding = guests.build(folder, "lock"), guests.build_workload(folder, EMBEDDING.name)
    programs = [f"{lock} {kind} {cpus} {turns}" for kind in ("spin", "barrier", "hard")]
    programs.append(f"{embedding} {ROWS} {QUERIES} {PER_QUERY} {cpus} 2 0 0 0 1 spin")
    given = ["--detail", "marker", "--cpus", str(cpus), "--membind", "cxl", "--no-prefetch", "--skew", skew]
    said, _ = guests.run_once(folder, f"{cpus}-{skew}", given, ["sh", "-c", "; ".join(programs)])
    lines = said.splitlines()
    [throughput] = workloads.printed(EMBEDDING, said).throughput
    return [*(float(line.split()[1]) for line in lines[:3]), 1e9 / throughput]


def of_many(folder: Path, cpus: int, turns: int, skews: Sequence[str]) -> list[list[Cell]]:
    """A row for the exact order, and one a skew: each time, and how much more it is [%]."""
    exact = times_of_many(folder, EXACT, cpus, turns)
    rows: list[list[Cell]] = [
        [str(cpus), "0, the exact order", *(cell for time in exact for cell in (time, None))]
    ]
    for skew in skews:
        times = times_of_many(folder, skew, cpus, turns)
        pairs = zip(times, exact, strict=True)
        rows.append(
            [str(cpus), skew, *(cell for time, at in pairs for cell in (time, (time / at - 1) * 100))]
        )
    return rows


def programs(folder: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Options and command of each program."""
    text, marked = guests.text_file(folder, LINES), ["--detail", "marker"]
    stream, ledger = guests.build(folder, "stream_threads"), guests.build(folder, "ledger")
    return {
        "STREAM": (marked, [str(stream), "4", str(BYTES)]),
        "ledger": (marked, [str(ledger), "4", str(MOVES)]),
        "xz -T4": (["--from-output", READY], ["sh", "-c", XZ.format(text=text)]),
    }


def of_programs(folder: Path) -> list[list[Cell]]:
    """Simulated time of each program [ms] at both skews, and the difference [%]."""
    rows: list[list[Cell]] = []
    for name, (options, command) in programs(folder).items():
        times = []
        for skew in SKEWS_OF_PROGRAMS:
            given = ["--cpus", "4", "--skew", skew, *options]
            _, ran = guests.run_once(folder, f"{name.split()[0]}-{skew}", given, command)
            times.append(1e3 * ran.simulated_seconds)
        rows.append([name, *times, (times[1] / times[0] - 1) * 100])
    return rows


def measure(asked: Asked) -> Report:
    """Two vCPUs: a row a skew, then the bounds. Many vCPUs beside the exact order. Programs at two skews."""
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
    tables = [Table("simulated time of a turn, and the speed of this run", columns, rows)]
    skews = QUICK_SKEWS_OF_MANY if asked.quick else SKEWS_OF_MANY
    kinds = ("lock, PAUSE [ns]", "barrier [ns]", "lock [ns]", "query [ns]")
    more = [column for kind in kinds for column in (Column(kind, "{:.1f}"), Column("more [%]", "{:+.1f}"))]
    many = [
        row
        for cpus, of_each in (QUICK_MANY if asked.quick else MANY)
        for row in of_many(asked.folder, cpus, of_each, skews)
    ]
    tables.append(
        Table("many vCPUs: times beside the exact order", [Column("vCPUs"), Column("skew"), *more], many)
    )
    if not asked.quick:
        times_of = [Column(f"{skew} [ms]", "{:.3f}") for skew in SKEWS_OF_PROGRAMS]
        title = f"programs on four vCPUs: time in detail, wanted within {WANTED:g} %"
        tables.append(
            Table(
                title,
                [Column("program"), *times_of, Column("more [%]", "{:+.2f}")],
                of_programs(asked.folder),
            )
        )
    return Report(tables)
