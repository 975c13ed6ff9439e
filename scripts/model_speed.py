"""``make model-speed``: requests that the model simulates in a second, and instructions for each.

Seconds are of processor time, of one core. Instructions (valgrind's callgrind, the difference of two runs) do
not depend on what else runs, nor on the processor. ``--record`` keeps the instructions in
tests/golden/instructions.json; ``--check`` fails where one has grown by more than `MOST_GROWTH` since then.
Sweeps of a bench are timed by the clock, with all processors of this host.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec import Struct
from rich import box
from rich.console import Console
from rich.table import Table

PROGRAM = Path("target/release/examples/speed")
#: Path, what it is, requests to time and to count, and the speed that it is to have [10^6 requests/s].
PATHS: tuple[tuple[str, str, int, int, float | None], ...] = (
    ("ddr", "one DDR5-4800 channel, detailed, saturated, random 2:1", 1_000_000, 20_000, 2.0),
    ("cxl", "root port, link, device, saturated, 2:1", 1_000_000, 20_000, 1.0),
    (
        "cache",
        "root port, link, device: hits of its cache before flash, saturated, 2:1",
        1_000_000,
        20_000,
        1.0,
    ),
    (
        "flash",
        "64 dies of Z-NAND, garbage collection at work: operations of the dies",
        1_000_000,
        20_000,
        0.2,
    ),
    (
        "machine",
        "spr-a1000, node cxl: 16 cores, caches, link, detailed DRAM, random 2:1",
        500_000,
        130_000,
        None,
    ),
    (
        "detail",
        "a recorded run in detail, mostly its program's start: instructions of the guest",
        10_000_000,
        1_000,
        None,
    ),
    (
        "misses",
        "a recorded chase through CXL memory, in detail: instructions of the guest",
        1_000_000,
        1_000,
        None,
    ),
    (
        "threads",
        "four processors that stream through DRAM and CXL memory, recorded: instructions of the guest",
        1_000_000,
        1_000,
        None,
    ),
)
#: A sweep of all delays of MLC with 16 threads: mix, what it is, and the time that it is to take [s].
SWEEPS: tuple[tuple[str, str, float], ...] = (
    ("1:0", "spr-a1000, node cxl: reads", 0.5),
    ("1:1", "spr-a1000, node cxl: as many lines written as read", 0.5),
)
#: Instructions for each request, by path, when they were last recorded.
RECORDED = Path("tests/golden/instructions.json")
#: A path may become so much dearer before it has to be recorded anew, on purpose.
MOST_GROWTH = 0.03


class Recorded(Struct, frozen=True):
    """The file of what was recorded."""

    compiler: str
    #: instructions for a request, by path
    each: dict[str, float]


def run(path: str, requests: int) -> tuple[int, float]:
    """Requests simulated, and the processor's seconds that it took."""
    before = os.times()
    done = subprocess.run([PROGRAM, path, str(requests)], check=True, capture_output=True, text=True)
    after = os.times()
    spent = [end - start for start, end in zip(before, after, strict=True)]
    return int(done.stdout), spent[2] + spent[3]


def instructions(path: str, requests: int) -> tuple[int, int]:
    """Requests simulated, and instructions executed in all."""
    with tempfile.TemporaryDirectory() as folder:
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        command = [*valgrind, str(PROGRAM), path, str(requests)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    collected = next(line for line in done.stderr.splitlines() if "Collected" in line)
    return int(done.stdout), int(collected.rsplit(":", 1)[1])


def each(path: str, counted: int) -> float:
    """Instructions for a request, beyond those that a run begins with."""
    few, base = instructions(path, counted)
    many, all_of_them = instructions(path, 2 * few)
    return (all_of_them - base) / (many - few)


def sweep(mix: str) -> float:
    """How long the command of a sweep takes [s], its start with it."""
    bench = ["bench", "loaded-latency", "--sweep"]
    load = ["--machine", "spr-a1000", "--node", "cxl", "--threads", "16", "--mix", mix]
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "cxlab", *bench, *load], check=True, capture_output=True)
    return time.monotonic() - began


def show_sweeps() -> None:
    """Run each sweep, print one table. What runs beside it on this host counts against it."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("sweep of 19 delays, 16 threads", "takes", "to take"):
        table.add_column(heading, justify="left" if heading.startswith("sweep") else "right")
    for mix, what, wanted in SWEEPS:
        table.add_row(what, f"{sweep(mix):.2f} s", f"{wanted:.1f} s")
    Console().print(table)


def build() -> None:
    """The program that is measured."""
    command = ["cargo", "build", "--quiet", "--release", "--package", "cxlab-model", "--example", "speed"]
    subprocess.run(command, check=True)


def show() -> None:
    """Run each path, print one table."""
    counting = shutil.which("valgrind") is not None
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("path", "requests/s", "to be", "instructions each"):
        table.add_column(heading, justify="left" if heading == "path" else "right")
    for path, what, timed, counted, wanted in PATHS:
        count, seconds = run(path, timed)
        target = "-" if wanted is None else f"{wanted:.1f} M"
        dear = f"{each(path, counted):,.0f}" if counting else "-"
        table.add_row(what, f"{count / seconds / 1e6:.2f} M", target, dear)
    Console().print(table)
    show_sweeps()
    if not counting:
        print("instructions are counted where valgrind is: apt-get install valgrind")


def compiler() -> str:
    """The compiler that makes the instructions."""
    return subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.strip()


def count_all() -> dict[str, float]:
    """Instructions for a request of each path."""
    if shutil.which("valgrind") is None:
        sys.exit("instructions are counted by valgrind: sudo apt-get install valgrind")
    return {path: round(each(path, counted), 1) for path, _, _, counted, _ in PATHS}


def grown(recorded: dict[str, float], counted: dict[str, float]) -> list[str]:
    """Messages about the paths that have become dearer than is allowed."""
    return [
        f"{path}: {counted[path]:,.0f} instructions each, {before:,.0f} were recorded "
        f"({counted[path] / before - 1:+.1%}; {MOST_GROWTH:.0%} is allowed)"
        for path, before in recorded.items()
        if counted[path] > before * (1 + MOST_GROWTH)
    ]


def main() -> int:
    """Show, record or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--record", action="store_true", help=f"write {RECORDED}")
    what.add_argument("--check", action="store_true", help=f"compare with {RECORDED}")
    asked = parser.parse_args()
    build()
    if asked.record:
        counted = msgspec.to_builtins(Recorded(compiler(), count_all()))
        RECORDED.write_text(json.dumps(counted, indent=1) + "\n")
        return 0
    if asked.check:
        recorded = msgspec.json.decode(RECORDED.read_bytes(), type=Recorded)
        if recorded.compiler != compiler():
            sys.exit(f"another compiler makes other instructions; recorded: {recorded.compiler}")
        dearer = grown(recorded.each, count_all())
        print("\n".join(dearer) or "no path has become dearer")
        return 1 if dearer else 0
    show()
    return 0


if __name__ == "__main__":
    sys.exit(main())
