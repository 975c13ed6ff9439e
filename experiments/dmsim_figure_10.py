"""CXL-DMSim (Wang et al.), figure 10: lat_mem_rd's curve from 1 KiB to 1 GiB on four memories.

Beside the paper's plateaus stand the synthetic kernel's and those of a program in the guest, a random chase
(lmbench is not among Debian's free packages), on pages of 2 MiB and of 4 KiB. 130, 284 and 375 ns are
calibrated on 2 MiB pages; DDR5 of the other socket is predicted; L1, L2 and LLC are facts of the host file.
``.venv/bin/python -m experiments.dmsim_figure_10 [--plot FILE] [--no-guest]``: five minutes with guests.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
from cxlab.bench import sweep
from cxlab.bench.request import PAGES, Placement, Workload
from cxlab.bench.request import SIZES as NAMES
from cxlab.place import plot, report

ROOT = Path(__file__).resolve().parent.parent
#: From 1 KiB to 1 GiB, a size a doubling: [B], and as the model writes it.
SIZES = {1 << power: name for power, name in enumerate(NAMES, start=10)}
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
#: Loads of a size in the guest, after a pass over what may fit the caches.
LOADS = 20_000

#: Bytes at which a level is read, and its latency [ns]: 5 and 15 cycles at 3.8 GHz, and the LLC's, as
#: data/hosts/xeon-8468v.toml has them.
LEVELS = {"L1": (16 * KIB, 5 / 3.8), "L2": (MIB, 15 / 3.8), "LLC": (32 * MIB, 33.0)}


@dataclass(frozen=True)
class Memory:
    """A bar of the figure."""

    name: str
    machine: str
    node: str
    #: the paper's [ns]
    paper: float
    calibrated: bool


MEMORIES = (
    Memory("DDR-L", "8468v-asic", "dram", 130.0, calibrated=True),
    Memory("DDR-R", "8468v-remote", "remote", 200.0, calibrated=False),
    Memory("CXL-ASIC", "8468v-asic", "cxl", 284.0, calibrated=True),
    Memory("CXL-FPGA", "8468v-fpga", "cxl", 375.0, calibrated=True),
)

#: bytes -> ns
Curve = dict[int, float]


def synthetic(memory: Memory, pages: str) -> Curve:
    """The bench's curve."""
    workload = Workload(memory.machine, Placement(((memory.node, 1),)), threads=0, pages=pages)
    points = sweep.run([workload.job_of({"walk": {"size": name}}) for name in SIZES.values()], memory.name)
    return {size: point["latency_ns"] for size, point in zip(SIZES, points, strict=True)}


def guest(folder: Path, memory: Memory, pages: str) -> Curve:
    """The same by a program in the guest, timed by itself."""
    program = folder / "chase"
    if not program.exists():
        source = ROOT / "tests" / "programs" / "chase.c"
        subprocess.run(["gcc", "-O2", "-o", program, source], check=True)
    command = [sys.executable, "-m", "cxlab", "run", "--detail", "marker"]
    command += ["--machine", memory.machine, "--membind", memory.node, "--memory", f"{memory.node}=3G"]
    command += ["--out", str(folder / "out"), "--"]
    command += ["env", "CHASE_BASE_PAGES=1"] if pages == "4KiB" else []
    command += [str(program), str(LOADS), *map(str, SIZES)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = [line.split() for line in ran.stdout.splitlines()]
    return {int(size): float(tsc) for size, _, tsc in lines}


def rows_of(memory: Memory, curves: dict[tuple[str, str], Curve]) -> list[report.Row]:
    """Paper, simulated, error at the plateau; 4 KiB stands beside it without a figure of the paper."""
    kind = "calibrated" if memory.calibrated else "predicted"
    return [
        report.Row(
            f"{memory.name}, {pages}, {where}" + (f" ({kind})" if pages == PAGES[0] else ""),
            memory.paper if pages == PAGES[0] else None,
            curve[GIB],
            "ns",
        )
        for (pages, where), curve in curves.items()
    ]


@click.command()
@click.option("--plot", "plot_file", type=click.Path(path_type=Path))
@click.option("--guest/--no-guest", "in_guest", default=True, help="Run the guests too.")
def main(plot_file: Path | None, in_guest: bool) -> None:
    """All curves, the plateaus as a table."""
    rows: list[report.Row] = []
    lines: list[plot.Line] = []
    with tempfile.TemporaryDirectory(prefix="figure-10-") as folder:
        for memory in MEMORIES:
            curves = {(pages, "synthetic"): synthetic(memory, pages) for pages in PAGES}
            if in_guest:
                curves |= {(pages, "guest"): guest(Path(folder), memory, pages) for pages in PAGES}
            if memory is MEMORIES[0]:
                rows += [
                    report.Row(f"{level}, {pages}, {where}", wanted, curve[size], "ns")
                    for level, (size, wanted) in LEVELS.items()
                    for (pages, where), curve in curves.items()
                ]
            rows += rows_of(memory, curves)
            lines += [
                plot.Line(
                    f"{memory.name}, {pages}, {where}",
                    [(math.log2(size), ns) for size, ns in curve.items()],
                    dashed=pages != PAGES[0],
                )
                for (pages, where), curve in curves.items()
                if where == ("guest" if in_guest else "synthetic")
            ]
    notes = ["L1, L2 and LLC: the host file's, not the paper's. 4 KiB pages: no figure in the paper."]
    report.show("CXL-DMSim figure 10: a random chase, by what it reads", rows, notes)
    if plot_file is not None:
        title = "A random chase from 1 KiB to 1 GiB (dashed: pages of 4 KiB)"
        plot.lines(plot_file, title, "size [log2 B]", "load to use [ns]", lines)


if __name__ == "__main__":
    main()
