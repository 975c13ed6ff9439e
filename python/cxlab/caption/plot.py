"""Share and throughput over time, as an image."""

from __future__ import annotations

from pathlib import Path

from cxlab.caption.log import Line
from cxlab.figure import drawn


def write(lines: list[Line], path: Path, title: str) -> None:
    """Draw the run: above the share in force, below what the program did."""
    time_ms = [line.time_s * 1e3 for line in lines]
    with drawn(path, (8.0, 5.0)) as figure:
        above, below = figure.subplots(2, sharex=True)
        above.step(time_ms, [line.cxl_share * 100 for line in lines], where="pre")
        above.set_ylabel("pages on CXL memory [%]")
        above.set_ylim(bottom=0)
        below.plot(time_ms, [line.throughput for line in lines])
        below.set_ylabel("throughput\n[10⁶ user instructions/s]")
        below.set_ylim(bottom=0)
        below.set_xlabel("simulated time [ms]")
        for axes in (above, below):
            axes.grid(alpha=0.3)
        figure.suptitle(title)
