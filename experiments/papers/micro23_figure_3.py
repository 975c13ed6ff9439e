"""MICRO'23 (Sun et al.), figure 3: a chase and memo's instructions on DDR5-R, CXL-A, CXL-B and CXL-C.

memo flushes, fences, and times 16 random accesses back to back. The paper's artifact shows how
(ece-fast-lab/cxl_type3_tests, memo_ae/src): what is flushed are the pages that are then accessed, so no page
is walked for in the time that counts (4 KiB pages stand beside 2 MiB ones and say the same), and each store
has a clwb behind it, here ``st-wb``. The paper prints ratios, no nanoseconds.
A minute in all.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal

from cxlab import figure
from cxlab.bench import sweep
from cxlab.bench.request import PAGES, Placement, Workload
from cxlab.bench.result import counted
from cxlab.border import Instruction, Pages

from experiments.experiment import Asked, Report, synthetic
from experiments.report import RATIO, Cell, Column, Figures, Row, Table

SUBJECT = synthetic("the bench's chase and memo's instructions, as the paper's artifact issues them")
MAKES = ("micro23/fig3",)
#: memory -> machine, node
MEMORIES = {
    "DDR5-L": ("6430-cxl-a", "dram"),
    "DDR5-R": ("6430-cxl-a", "remote"),
    "CXL-A": ("6430-cxl-a", "cxl"),
    "CXL-B": ("6430-cxl-b", "cxl"),
    "CXL-C": ("6430-cxl-c", "cxl"),
}
CHASE: Literal["chase"] = "chase"
INSTRUCTIONS: tuple[Instruction, ...] = ("ld", "nt-ld", "st", "st-wb", "nt-st")
#: (memory, what) -> ns
Latencies = Mapping[tuple[str, str], float]

#: What, over what, the paper's ratio, where it stands; section 4.1 and figure 3. Three calibrate the devices.
RATIOS = (
    (("DDR5-R", "ld"), ("DDR5-R", CHASE), 0.24, "O1"),
    (("CXL-A", "ld"), ("CXL-A", CHASE), 0.21, "O3"),
    (("CXL-A", "ld"), ("DDR5-R", "ld"), 1.35, "O2, calibrated"),
    (("CXL-B", "ld"), ("DDR5-R", "ld"), 2.0, "O2, calibrated"),
    (("CXL-C", "ld"), ("DDR5-R", "ld"), 3.0, "O2, calibrated"),
    (("CXL-C", "ld"), ("CXL-B", "ld"), 1.67, "O2"),
    (("DDR5-R", "st-wb"), ("DDR5-L", "ld"), 2.3, "O3"),
    (("CXL-A", "nt-st"), ("DDR5-R", "nt-st"), 0.75, "O3"),
)


def latencies_on(pages: Pages) -> Latencies:
    """All bars on pages of a size."""
    whats: tuple[Instruction | Literal["chase"], ...] = (CHASE, *INSTRUCTIONS)
    bars = [(memory, what) for memory in MEMORIES for what in whats]
    jobs = []
    for memory, what in bars:
        machine, node = MEMORIES[memory]
        workload = Workload(machine, Placement(((node, 1),)), threads=0, pages=pages)
        jobs.append(workload.job(0) if what == CHASE else workload.job_of({"memo": {"instruction": what}}))
    points = sweep.run(jobs, pages)
    return {bar: counted(point.latency_ns) for bar, point in zip(bars, points, strict=True)}


def bars_table(pages: str, latencies: Latencies) -> Table:
    """Nanoseconds: of a load of the chase, of a sixteenth of a batch."""
    whats = (CHASE, *INSTRUCTIONS)
    columns = [Column("memory"), *(Column(what, "{:.1f}") for what in whats)]
    rows: list[list[Cell]] = [[memory, *(latencies[memory, what] for what in whats)] for memory in MEMORIES]
    return Table(f"figure 3, simulated, in ns, pages of {pages}", columns, rows)


def ratios(pages: str, latencies: Latencies) -> Figures:
    """Paper, simulated, error."""
    rows = [
        Row(
            f"{' '.join(this)} over {' '.join(other)} ({where})",
            paper,
            ratio,
            RATIO,
            calibrated="calibrated" in where,
        )
        for this, other, paper, where in RATIOS
        for ratio in [latencies[this] / latencies[other]]
    ]
    return Figures(f"MICRO'23, 4.1: ratios, pages of {pages}", rows, MAKES[0])


def measure(asked: Asked) -> Report:
    """Bars and ratios for both sizes of pages; quick: for 2 MiB pages alone."""
    found = {pages: latencies_on(pages) for pages in (PAGES[:1] if asked.quick else PAGES)}
    tables = [
        table
        for pages, latencies in found.items()
        for table in (bars_table(pages, latencies), ratios(pages, latencies))
    ]
    pairs = ratios(PAGES[0], found[PAGES[0]]).pairs()
    draw = partial(figure.bars, title="MICRO'23 figure 3: ratios", y="ratio", pairs=pairs)
    return Report(tables, figure=draw)
