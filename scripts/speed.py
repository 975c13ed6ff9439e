"""``make speed``: how fast the simulator is here: guest instructions in detail for each second of the host.

A benchmark: it prints, it does not judge. What runs beside it on this host counts against it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

SOURCES = Path("tests/programs")
#: Program, its arguments, the command's options, and the speed that it is to have [10^6 instructions/s].
PROGRAMS: tuple[tuple[str, tuple[str, ...], tuple[str, ...], float | None], ...] = (
    ("qsort", ("400000",), (), 5.0),
    ("triad", (str(32 << 20),), (), 2.0),
    ("chase", ("4000000", str(64 << 20)), (), 2.0),
    # Data and code behind a CXL device cost QEMU what DRAM costs.
    ("qsort", ("400000",), ("--cxl", "device", "--membind", "cxl"), 5.0),
    ("code", ("4000000",), ("--cxl", "device", "--membind", "dram"), 5.0),
    ("code", ("4000000",), ("--cxl", "device", "--membind", "cxl"), 5.0),
    # Four processors are to have, together, half of what one has.
    ("stream_threads", ("1", str(24 << 20)), (), None),
    ("stream_threads", ("4", str(24 << 20)), ("--cpus", "4"), None),
)


def run(folder: Path, name: str, arguments: tuple[str, ...], options: tuple[str, ...]) -> dict[str, Any]:
    """One run in detail from its first instruction to its last; its summary."""
    program = folder / name
    subprocess.run(["gcc", "-O2", "-pthread", "-o", program, SOURCES / f"{name}.c"], check=True)
    command = [sys.executable, "-m", "cxlab", "run", "--out", str(folder / "out"), *options]
    subprocess.run([*command, "--", str(program), *arguments], check=True, capture_output=True)
    summary: dict[str, Any] = json.loads((folder / "out/summary.json").read_bytes())
    return summary


def main() -> int:
    """Run each, print one table."""
    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    headings = ("program", "instructions", "boot", "detail", "speed", "wanted", "memory")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "program" else "right")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments, options, wanted in PROGRAMS:
            with console.status(f"{name} ..."):
                summary = run(Path(folder), name, arguments, options)
            instructions = sum(summary["instructions"].values()) / 1e6
            host = summary["host_seconds"]
            table.add_row(
                " ".join([name, *options]),
                f"{instructions:.0f} M",
                f"{host['boot']:.1f} s",
                f"{host['detail']:.1f} s",
                f"{instructions / host['detail']:.1f} M/s",
                "" if wanted is None else f"{wanted:.0f} M/s",
                f"{summary['host_memory_mb']:.0f} MB",
            )
    console.print(table)
    console.print(f"{os.cpu_count()} processors; load average before: {load:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
