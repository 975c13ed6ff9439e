"""``make speed``: how fast the simulator is here: guest instructions for each second of the host.

In detail, replayed from a trace, and warming alone (a sample whose only window is a thousand instructions).
What runs beside it on this host counts against it. So each speed is also told as a share of a yardstick. That
is the speed at which this host executes the first program itself, measured just before the row. ``--record``
appends the shares to tests/golden/speed.jsonl, with the commit. A slow host does not look like a slow commit
there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cxlab.border import Instructions
from cxlab.run.guest import artefacts
from cxlab.run.results import finished
from cxlab.run.results.finished import Finished
from rich import box
from rich.console import Console
from rich.table import Table

SOURCES = Path("tests/programs")
#: Program, its arguments, the command's options, and the speed that it is to have [10^6 instructions/s].
PROGRAMS: tuple[tuple[str, tuple[str, ...], tuple[str, ...], float | None], ...] = (
    ("qsort", ("400000",), (), 10.0),
    ("triad", (str(32 << 20),), (), 3.0),
    ("chase", ("4000000", str(64 << 20)), (), 3.0),
    # Data and code behind a CXL device cost QEMU what DRAM costs.
    ("qsort", ("400000",), ("--cxl", "device", "--membind", "cxl"), 10.0),
    ("code", ("4000000",), ("--cxl", "device", "--membind", "dram"), 5.0),
    ("code", ("4000000",), ("--cxl", "device", "--membind", "cxl"), 5.0),
    # Four processors are to have, together, half of what one has.
    ("stream_threads", ("1", str(24 << 20)), (), None),
    ("stream_threads", ("4", str(24 << 20)), ("--cpus", "4"), None),
    # The more processors, the more often QEMU and the model wait for each other.
    ("sorts", ("1", "100000"), (), None),
    ("sorts", ("4", "48000"), ("--cpus", "4"), None),
    ("sorts", ("16", "12000"), ("--cpus", "16"), None),
    ("sorts", ("48", "8000"), ("--cpus", "48"), None),
)
#: The same for warming: long enough that the program's start does not count.
WARMED: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("qsort", ("4000000",), 60.0),
    ("triad", (str(256 << 20),), 60.0),
)
#: The shares of the yardstick, a line for each commit that recorded them.
HISTORY = Path("tests/golden/speed.jsonl")
#: The yardstick's program sorts so many times as much, and is the best of so many.
YARDSTICK_TIMES = 10
TRIES = 5
WARMING = ("--sample", "detail=1k,warm=0,every=100G")


@dataclass(frozen=True)
class Row:
    """Measurements of one program."""

    label: str
    #: [10^6]
    instructions: float
    boot_seconds: float | None
    seconds: float
    #: [10^6 instructions/s]; None: what a row above has
    wanted: float | None
    memory_mb: float | None
    #: the host's own speed just before [10^6 instructions/s]
    yardstick: float

    @property
    def speed(self) -> float:
        """Speed of the simulator [10^6 instructions/s]."""
        return self.instructions / self.seconds

    @property
    def share(self) -> float:
        """Share of the yardstick's speed."""
        return self.speed / self.yardstick


@dataclass(frozen=True)
class Yardstick:
    """A program that the host executes itself."""

    command: tuple[str, ...]
    #: that it executes, as the model counts them [10^6]
    instructions: float

    def speed(self) -> float:
        """Speed of this host on the program [10^6 instructions/s]."""
        return self.instructions / min(self._seconds() for _ in range(TRIES))

    def _seconds(self) -> float:
        before = os.times()
        subprocess.run(self.command, check=True, capture_output=True)
        after = os.times()
        return after.children_user - before.children_user


def build(folder: Path, name: str) -> Path:
    """Build a test program."""
    program = folder / name
    subprocess.run(
        ["gcc", "-O2", f"-I{artefacts.INCLUDE}", "-pthread", "-o", program, SOURCES / f"{name}.c"], check=True
    )
    return program


def run(folder: Path, program: Path, arguments: tuple[str, ...], *options: str) -> Finished:
    """One run, finished."""
    out = ["--out", str(folder / "out"), "--overwrite"]
    command = [sys.executable, "-m", "cxlab", "run", *options, *out, "--", str(program), *arguments]
    subprocess.run(command, check=True, capture_output=True)
    return finished.read(folder / "out")


def executed(run: Finished) -> Instructions:
    """Instructions that a run in detail has executed."""
    assert run.result is not None, f"{run.folder}: nothing was timed"
    return run.result.instructions


def row(label: str, run: Finished, wanted: float | None, yardstick: float) -> Row:
    """One run from its first instruction to its last."""
    instructions, host = executed(run), run.host_seconds
    assert host.detail is not None, f"{run.folder}: no time of the host"
    millions = (instructions.user + instructions.kernel) / 1e6
    return Row(label, millions, host.boot, host.detail, wanted, run.host_memory_mb, yardstick)


def replayed(trace: Path, live: Row, yardstick: float) -> Row:
    """The trace of a run once more, the start of the command with it."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "cxlab", "replay", str(trace)], check=True, capture_output=True)
    seconds = time.monotonic() - began
    return Row(f"{live.label}, replayed", live.instructions, None, seconds, None, None, yardstick)


def host_speed(folder: Path) -> Yardstick:
    """The first program, larger: natively it takes a tenth of a second and more."""
    name, arguments, *_ = PROGRAMS[0]
    program = build(folder, name)
    counted = run(folder, program, arguments)
    larger = str(YARDSTICK_TIMES * int(arguments[0]))
    # Sorting takes n log n; the error of a few per cent is in every row alike.
    return Yardstick((str(program), larger), YARDSTICK_TIMES * executed(counted).user / 1e6)


def rows(folder: Path) -> Iterator[Row]:
    """Each as soon as it is measured."""
    yardstick = host_speed(folder)
    for number, (name, arguments, options, wanted) in enumerate(PROGRAMS):
        program = build(folder, name)
        live = row(
            " ".join([name, *options]), run(folder, program, arguments, *options), wanted, yardstick.speed()
        )
        yield live
        if number == 0:
            trace = folder / "trace"
            run(folder, program, arguments, "--record", str(trace))
            yield replayed(trace, live, yardstick.speed())
    for name, arguments, wanted in WARMED:
        warmed = run(folder, folder / name, arguments, *WARMING)
        yield row(f"{name}, warming", warmed, wanted, yardstick.speed())


def record(measured: list[Row]) -> None:
    """Append the shares to the history."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    line = {
        "commit": commit,
        "date": time.strftime("%Y-%m-%d"),
        "yardstick_m_per_s": round(measured[0].yardstick, 1),
        "share_of_yardstick": {row.label: float(f"{row.share:.4g}") for row in measured},
    }
    with HISTORY.open("a") as history:
        history.write(json.dumps(line) + "\n")


def main() -> int:
    """Run each, print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--record", action="store_true", help=f"append the shares to {HISTORY}")
    asked = parser.parse_args()
    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    headings = ("program", "instructions", "boot", "run", "speed", "of the host's", "wanted", "memory")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "program" else "right")
    load = os.getloadavg()[0]
    all_of_them: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        measured = rows(Path(folder))
        while True:
            with console.status("measuring ..."):
                found = next(measured, None)
            if found is None:
                break
            all_of_them.append(found)
            table.add_row(
                found.label,
                f"{found.instructions:.0f} M",
                "" if found.boot_seconds is None else f"{found.boot_seconds:.1f} s",
                f"{found.seconds:.1f} s",
                f"{found.speed:.1f} M/s",
                f"{found.share:.2%}",
                "" if found.wanted is None else f"{found.wanted:.0f} M/s",
                "" if found.memory_mb is None else f"{found.memory_mb:.0f} MB",
            )
    console.print(table)
    yardstick = all_of_them[0].yardstick
    console.print(
        f"the host itself: {yardstick:.0f} M/s; {os.cpu_count()} processors; load average before: {load:.1f}"
    )
    if asked.record:
        record(all_of_them)
    return 0


if __name__ == "__main__":
    sys.exit(main())
