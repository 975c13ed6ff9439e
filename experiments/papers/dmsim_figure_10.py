"""CXL-DMSim (Hong et al.), figure 10: lat_mem_rd's curve from 1 KiB to 1 GiB on four memories.

Beside the paper's plateaus stand the synthetic kernel's and those of a program in the guest, a random chase
(lmbench is not among Debian's free packages), on pages of 2 MiB and of 4 KiB. 130, 284 and 375 ns are
calibrated on 2 MiB pages; DDR5 of the other socket is predicted; L1, L2 and LLC are facts of the host file.
Five minutes in all; quick: no guest, 2 MiB pages, six sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cxlab import figure
from cxlab.bench import sweep
from cxlab.bench.request import PAGES, Placement, Workload
from cxlab.bench.request import SIZES as NAMES
from cxlab.bench.result import counted
from cxlab.border import Pages
from cxlab.figure import Line

from experiments import guests
from experiments.experiment import Asked, Report, synthetic
from experiments.report import Figures, Row

SUBJECT = synthetic(
    "random chases, of the bench and of a program in the guest, stand for lmbench's lat_mem_rd"
)
MAKES = ("dmsim/fig10",)
#: From 1 KiB to 1 GiB, a size a doubling: [B], and as the model writes it.
SIZES = {1 << power: name for power, name in enumerate(NAMES, start=10)}
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
QUICK_SIZES = (KIB, 16 * KIB, MIB, 32 * MIB, 256 * MIB, GIB)
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


def in_bench(memory: Memory, pages: Pages, sizes: Sequence[int]) -> Curve:
    """The bench's curve."""
    workload = Workload(memory.machine, Placement(((memory.node, 1),)), threads=0, pages=pages)
    jobs = [workload.job_of({"walk": {"size": SIZES[size]}}) for size in sizes]
    points = sweep.run(jobs, memory.name)
    return {size: counted(point.latency_ns) for size, point in zip(sizes, points, strict=True)}


def in_guest(folder: Path, memory: Memory, pages: str, sizes: Sequence[int]) -> Curve:
    """The curve of a program in the guest, timed by itself."""
    options = ["--detail", "marker", "--machine", memory.machine, "--membind", memory.node]
    options += ["--memory", f"{memory.node}=3G"]
    small = ["env", "CHASE_BASE_PAGES=1"] if pages == "4KiB" else []
    program = [*small, str(guests.build(folder, "chase")), str(LOADS), *map(str, sizes)]
    said, _ = guests.run(folder, f"{memory.name}-{pages}", options, program)
    lines = [line.split() for line in said.splitlines()]
    return {int(size): float(tsc) for size, _, tsc in lines}


def rows_of(memory: Memory, curves: dict[tuple[str, str], Curve]) -> list[Row]:
    """Paper, simulated, error at the plateau; 4 KiB stands beside it without a figure of the paper."""
    kind = "calibrated" if memory.calibrated else "predicted"
    return [
        Row(
            f"{memory.name}, {pages}, {where}" + (f" ({kind})" if pages == PAGES[0] else ""),
            memory.paper if pages == PAGES[0] else None,
            curve[GIB],
            "ns",
            calibrated=memory.calibrated,
            rank=f"{pages}, {where}",
        )
        for (pages, where), curve in curves.items()
    ]


def measure(asked: Asked) -> Report:
    """All curves, the plateaus as a table."""
    sizes = QUICK_SIZES if asked.quick else tuple(SIZES)
    rows: list[Row] = []
    lines: list[Line] = []
    for memory in MEMORIES:
        curves: dict[tuple[str, str], Curve] = {
            (pages, "synthetic"): in_bench(memory, pages, sizes)
            for pages in (PAGES[:1] if asked.quick else PAGES)
        }
        if not asked.quick:
            curves |= {(pages, "guest"): in_guest(asked.folder, memory, pages, sizes) for pages in PAGES}
        if memory is MEMORIES[0]:
            rows += [
                # A fact of the host file, not of the paper: no prediction.
                Row(f"{level}, {pages}, {where}", wanted, curve[size], "ns", calibrated=True)
                for level, (size, wanted) in LEVELS.items()
                for (pages, where), curve in curves.items()
            ]
        rows += rows_of(memory, curves)
        lines += [
            Line(
                f"{memory.name}, {pages}, {where}",
                [(math.log2(size), ns) for size, ns in curve.items()],
                dashed=pages != PAGES[0],
            )
            for (pages, where), curve in curves.items()
            if where == ("synthetic" if asked.quick else "guest")
        ]
    notes = ["L1, L2 and LLC: the host file's, not the paper's. 4 KiB pages: no figure in the paper."]
    draw = partial(
        figure.lines,
        title="A random chase from 1 KiB to 1 GiB (dashed: pages of 4 KiB)",
        x="size [log2 B]",
        y="load to use [ns]",
        curves=lines,
    )
    return Report(
        [Figures("CXL-DMSim figure 10: a random chase, by what it reads", rows, MAKES[0])], notes, draw
    )
