"""Read bandwidth of Samsung's CMM-H over the working set, beside Cylon (Yoon et al., FAST'26), figure 4.

The working set is a ratio of the device's DRAM cache. Threads of the bench stand for Intel MLC, which read
their buffers in order. Three ratios are published here. One of them calibrates ``cmm-h-800``: its row says
so, and proves nothing. Beyond the cache (1.33 and 2.67) the rows are predictions, and no figure of the
paper is printed. A minute in all.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from cxlab import figure
from cxlab.bench import sweep
from cxlab.bench.figures import Figure, shipped
from cxlab.bench.request import Placement, Workload
from cxlab.bench.result import counted
from cxlab.border import BenchPoint
from cxlab.figure import Line

from experiments.experiment import Asked, Report, synthetic
from experiments.report import Cell, Column, Table

SUBJECT = synthetic("the bench's load threads stand for Intel MLC")
MACHINE, NODE = "cmm-h-800", "cxl"
#: Working set over the cache; of the last two, nothing is known here.
RATIOS, QUICK_RATIOS = (0.04, 0.33, 0.67, 1.33, 2.67), (0.04, 0.67)
#: The bench's, as `cxlab validate` has them.
THREADS = 16


def silicon() -> dict[float, Figure]:
    """The published points, by their ratio."""
    return {
        known.settings.of_cache: known
        for known in shipped()
        if known.machine == MACHINE
        and known.settings.metric == "bandwidth"
        and known.settings.of_cache is not None
    }


def run(ratios: tuple[float, ...]) -> list[BenchPoint]:
    """A point for each ratio."""
    placement = Placement(((NODE, 1),))
    workloads = [
        Workload(MACHINE, placement, THREADS, latency_thread=False, of_cache=ratio) for ratio in ratios
    ]
    return sweep.run([workload.job(0) for workload in workloads], NODE)


def row(ratio: float, point: BenchPoint, known: Figure | None) -> list[Cell]:
    """A line of the table."""
    simulated = counted(point.bandwidth_mb_s) / 1e3
    if known is None:
        return [f"{ratio:.2f}", "predicted", None, simulated, None]
    role = "calibrated" if known.role == "calibration" else "predicted"
    return [f"{ratio:.2f}", role, known.low, simulated, simulated / known.low - 1]


def draw(rows: list[list[Cell]], path: Path) -> None:
    """Draw both curves."""
    simulated = [(float(str(ratio)), found) for ratio, _, _, found, _ in rows if isinstance(found, float)]
    published = [(float(str(ratio)), known) for ratio, _, known, _, _ in rows if isinstance(known, float)]
    curves = [Line("simulated", simulated), Line("silicon", published, dashed=True)]
    title = "CMM-H: read bandwidth over the working set"
    figure.lines(path, title, "working set / device cache", "bandwidth [GB/s]", curves)


def measure(asked: Asked) -> Report:
    """All ratios. Quick: the first, and the one that calibrates."""
    ratios = QUICK_RATIOS if asked.quick else RATIOS
    known = silicon()
    rows = [row(ratio, point, known.get(ratio)) for ratio, point in zip(ratios, run(ratios), strict=True)]
    columns = (
        Column("of cache"),
        Column("role"),
        Column("silicon [GB/s]", "{:.1f}"),
        Column("simulated [GB/s]", "{:.2f}"),
        Column("error", "{:+.1%}"),
    )
    table = Table(f"{MACHINE}: all reads, in order, {THREADS} threads", columns, rows, left=2)
    return Report([table], figure=partial(draw, rows))
