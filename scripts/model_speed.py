"""``make model-speed``: requests that the model simulates in a second, and instructions for each.

A benchmark: it prints, it does not judge. Seconds are of processor time, of one core; instructions
(valgrind's callgrind, the difference of two runs) do not depend on what else runs, nor on the processor.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

PROGRAM = Path("target/release/examples/speed")
#: Path, what it is, requests to time and to count, and the speed that it is to have [10^6 requests/s].
PATHS: tuple[tuple[str, str, int, int, float | None], ...] = (
    ("ddr", "one DDR5-4800 channel, detailed, saturated, random 2:1", 1_000_000, 50_000, 2.0),
    ("cxl", "root port, link, device, saturated, 2:1", 1_000_000, 50_000, 1.0),
    (
        "machine",
        "spr-a1000, node cxl: 16 cores, caches, link, detailed DRAM, random 2:1",
        500_000,
        130_000,
        None,
    ),
)


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


def main() -> int:
    """Run each, print one table."""
    build = ["cargo", "build", "--quiet", "--release", "--package", "cxlab-model", "--example", "speed"]
    subprocess.run(build, check=True)
    counting = shutil.which("valgrind") is not None
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("path", "requests/s", "to be", "instructions each"):
        table.add_column(heading, justify="left" if heading == "path" else "right")
    for path, what, timed, counted, wanted in PATHS:
        count, seconds = run(path, timed)
        each = "-"
        if counting:
            (few, base), (many, all_of_them) = instructions(path, counted), instructions(path, 2 * counted)
            each = f"{(all_of_them - base) / (many - few):,.0f}"
        target = "-" if wanted is None else f"{wanted:.1f} M"
        table.add_row(what, f"{count / seconds / 1e6:.2f} M", target, each)
    Console().print(table)
    if not counting:
        print("instructions are counted where valgrind is: apt-get install valgrind")
    return 0


if __name__ == "__main__":
    sys.exit(main())
