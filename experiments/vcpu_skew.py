"""How far apart in time vCPUs may run (``--skew``), and what that does to threads that wait for each other.

Prints, for skews from 0.2 us to 20 us, the simulated time of a turn: two threads that hand a number to and
fro, a producer and a consumer, two threads at a spin lock, with PAUSE and without. Below stand the bounds,
from the same loops on one vCPU, where nobody waits and no line changes cores::

    relay   the work of a round; each of its two hand-overs moves the line twice and is noticed a PAUSE late
    ring    half of what one thread takes for both sides, if they overlap wholly; all of it, if not at all,
            and a line each way for what is put, what is taken, and both counts
    lock    a turn; at most another's turn before it, noticed a PAUSE late; lock and count change cores

About three minutes on a quiet machine of two cores: ``.venv/bin/python -m experiments.vcpu_skew [SKEW ...]``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent.parent / "tests" / "programs"
SKEWS = ("200ns", "500ns", "1us", "2us", "5us", "10us", "20us")
TURNS = 20_000
#: What PAUSE makes a thread wait (crates/access/src/record.rs) [ns].
PAUSE = 36.8
#: A line from another core's cache, at most: an LLC hit, and the snoop's way there and back, 20 ns each
#: (data/hosts/xeon-8468v.toml) [ns].
TRANSFER = 33 + 2 * 20


def measure(folder: Path, name: str, cpus: int, *options: str) -> tuple[list[float], float]:
    """The four programs in one guest: the time of a turn of each [ns], and instructions a second."""
    alone = "alone " if cpus == 1 else ""
    locks = [f"{folder / 'lock'} {kind} {cpus} {TURNS}" for kind in ("ring", "spin", "hard")]
    script = "; ".join([f"{folder / 'relay'} {alone}{TURNS // 10}", *locks])
    out = folder / name
    command = [sys.executable, "-m", "cxlab", "run", "--detail", "marker", "--out", str(out)]
    command += ["--cpus", str(cpus), *options, "--", "sh", "-c", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    summary = json.loads((out / "summary.json").read_bytes())
    speed = sum(summary["instructions"].values()) / summary["host_seconds"]["detail"]
    return [float(line.split()[-1]) for line in done.stdout.splitlines()], speed


def show(name: str, *figures: float) -> None:
    """Print a row."""
    print(f"  {name:<10}" + "".join(f"{figure:12.2f}" for figure in figures), flush=True)


def main() -> None:
    """The whole table."""
    skews = tuple(sys.argv[1:]) or SKEWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program in ("relay", "lock"):
            source = PROGRAMS / f"{program}.c"
            subprocess.run(["gcc", "-O2", "-pthread", "-o", folder / program, source], check=True)
        print("  simulated time of a turn [ns], and speed in this run [10^6 instructions/s]\n")
        print(f"  {'skew':<10}{'relay':>12}{'ring':>12}{'lock, PAUSE':>12}{'lock':>12}{'speed':>12}")
        for skew in skews:
            turns, speed = measure(folder, skew, 2, "--skew", skew)
            show(skew, *turns, speed / 1e6)
        (relay, ring, spin, hard), _ = measure(folder, "alone", 1)
        show("at least", relay, ring / 2, spin, hard)
        moved = 4 * TRANSFER
        show("at most", relay + moved + 2 * PAUSE, ring + moved, 2 * spin + moved + PAUSE, 2 * hard + moved)


if __name__ == "__main__":
    main()
