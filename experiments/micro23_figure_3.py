"""MICRO'23 (Sun et al.), figure 3: a chase and memo's instructions on DDR5-R, CXL-A, CXL-B and CXL-C.

memo flushes, fences, and times 16 random accesses back to back. The paper's artifact shows how
(ece-fast-lab/cxl_type3_tests, memo_ae/src): what is flushed are the pages that are then accessed, so no page
is walked for in the time that counts (4 KiB pages stand beside 2 MiB ones and say the same), and each store
has a clwb behind it, here ``st-wb``. The paper prints ratios, no nanoseconds.
``.venv/bin/python -m experiments.micro23_figure_3 [--plot FILE]``: a minute.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click
from cxlab.bench import sweep
from cxlab.bench.request import PAGES, Placement, Workload
from cxlab.bench.result import console
from cxlab.cli.output import PLOT_FILE
from cxlab.place import plot, report
from rich.table import Table

#: memory -> machine, node
MEMORIES = {
    "DDR5-L": ("6430-cxl-a", "dram"),
    "DDR5-R": ("6430-cxl-a", "remote"),
    "CXL-A": ("6430-cxl-a", "cxl"),
    "CXL-B": ("6430-cxl-b", "cxl"),
    "CXL-C": ("6430-cxl-c", "cxl"),
}
CHASE = "chase"
INSTRUCTIONS = ("ld", "nt-ld", "st", "st-wb", "nt-st")
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


def measure(pages: str) -> Latencies:
    """All bars on pages of a size."""
    bars = [(memory, what) for memory in MEMORIES for what in (CHASE, *INSTRUCTIONS)]
    jobs = []
    for memory, what in bars:
        machine, node = MEMORIES[memory]
        workload = Workload(machine, Placement(((node, 1),)), threads=0, pages=pages)
        work = {"memo": {"instruction": what}}
        jobs.append(workload.job(0) if what == CHASE else workload.job_of(work))
    points = sweep.run(jobs, pages)
    return {bar: float(point["latency_ns"]) for bar, point in zip(bars, points, strict=True)}


def bars_table(pages: str, latencies: Latencies) -> Table:
    """Nanoseconds: of a load of the chase, of a sixteenth of a batch."""
    table = Table(title=f"figure 3, simulated, in ns, pages of {pages}", title_justify="left")
    table.add_column("memory")
    for what in (CHASE, *INSTRUCTIONS):
        table.add_column(what, justify="right")
    for memory in MEMORIES:
        table.add_row(memory, *(f"{latencies[memory, what]:.1f}" for what in (CHASE, *INSTRUCTIONS)))
    return table


def ratios(latencies: Latencies) -> list[report.Row]:
    """Paper, simulated, error."""
    return [
        report.Row(
            f"{' '.join(this)} over {' '.join(other)} ({where})",
            paper,
            latencies[this] / latencies[other],
            "x",
        )
        for this, other, paper, where in RATIOS
    ]


@click.command()
@click.option("--plot", "plot_file", type=PLOT_FILE, help="Draw paper's and simulated ratios, 2 MiB pages.")
def main(plot_file: Path | None) -> None:
    """Bars and ratios for both sizes of pages."""
    found = {pages: measure(pages) for pages in PAGES}
    for pages, latencies in found.items():
        console().print(bars_table(pages, latencies))
        report.show(f"MICRO'23, 4.1: ratios, pages of {pages}", ratios(latencies))
    if plot_file is not None:
        plot.bars(plot_file, "MICRO'23 figure 3: ratios", "ratio", ratios(found[PAGES[0]]))


if __name__ == "__main__":
    main()
