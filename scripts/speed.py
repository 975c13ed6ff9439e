"""``make speed``: how fast the simulator is here: guest instructions for each second of the host.

In detail, replayed from a trace, and warming alone (a sample whose only window is a thousand instructions). A
benchmark: it prints, it does not judge. What runs beside it on this host counts against it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cxlab.run.guest import artefacts
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
)
#: The same for warming: long enough that the program's start does not count.
WARMED: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("qsort", ("4000000",), 60.0),
    ("triad", (str(256 << 20),), 60.0),
)
WARMING = ("--sample", "detail=1k,warm=0,every=100G")


@dataclass(frozen=True)
class Row:
    """What was measured of one program."""

    label: str
    #: [10^6]
    instructions: float
    boot_seconds: float | None
    seconds: float
    #: [10^6 instructions/s]; None: what a row above has
    wanted: float | None
    memory_mb: float | None


def build(folder: Path, name: str) -> Path:
    """A test program."""
    program = folder / name
    subprocess.run(
        ["gcc", "-O2", f"-I{artefacts.INCLUDE}", "-pthread", "-o", program, SOURCES / f"{name}.c"], check=True
    )
    return program


def run(
    folder: Path, label: str, program: Path, arguments: tuple[str, ...], wanted: float | None, *options: str
) -> Row:
    """One run from its first instruction to its last."""
    command = [
        sys.executable,
        "-m",
        "cxlab",
        "run",
        *options,
        "--out",
        str(folder / "out"),
        "--",
        str(program),
    ]
    subprocess.run([*command, *arguments], check=True, capture_output=True)
    summary: dict[str, Any] = json.loads((folder / "out/summary.json").read_bytes())
    host = summary["host_seconds"]
    instructions = sum(summary["instructions"].values()) / 1e6
    return Row(label, instructions, host["boot"], host["detail"], wanted, summary["host_memory_mb"])


def replayed(trace: Path, live: Row) -> Row:
    """The trace of a run once more, the start of the command with it."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "cxlab", "replay", str(trace)], check=True, capture_output=True)
    seconds = time.monotonic() - began
    return Row(f"{live.label}, replayed", live.instructions, None, seconds, None, None)


def rows(folder: Path) -> Iterator[Row]:
    """Each as soon as it is measured."""
    for number, (name, arguments, options, wanted) in enumerate(PROGRAMS):
        program = build(folder, name)
        live = run(folder, " ".join([name, *options]), program, arguments, wanted, *options)
        yield live
        if number == 0:
            trace = folder / "trace"
            run(folder, name, program, arguments, wanted, "--record", str(trace))
            yield replayed(trace, live)
    for name, arguments, wanted in WARMED:
        yield run(folder, f"{name}, warming", folder / name, arguments, wanted, *WARMING)


def main() -> int:
    """Run each, print one table."""
    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    headings = ("program", "instructions", "boot", "run", "speed", "wanted", "memory")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "program" else "right")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        measured = rows(Path(folder))
        while True:
            with console.status("measuring ..."):
                row = next(measured, None)
            if row is None:
                break
            table.add_row(
                row.label,
                f"{row.instructions:.0f} M",
                "" if row.boot_seconds is None else f"{row.boot_seconds:.1f} s",
                f"{row.seconds:.1f} s",
                f"{row.instructions / row.seconds:.1f} M/s",
                "" if row.wanted is None else f"{row.wanted:.0f} M/s",
                "" if row.memory_mb is None else f"{row.memory_mb:.0f} MB",
            )
    console.print(table)
    console.print(f"{os.cpu_count()} processors; load average before: {load:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
