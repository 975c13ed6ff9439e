"""A figure's plot: each row with the paper's point and the simulated one, a panel a unit.

::

    x                                  paper: open circle, or a bar over its range
    CXL-A ld over DDR5-R ld   o--x     simulated: cross
    DDR5-R ld over its chase   x o     (rows of which the paper prints nothing have a cross alone)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cxlab.figure import COLOURS, drawn

from experiments.report import Figures, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Of the plot [inch].
WIDTH, ROW_HEIGHT, PANEL_HEIGHT = 9.0, 0.24, 0.9


def draw(path: Path, title: str, tables: Sequence[Figures]) -> None:
    """Write the plot of a figure's tables."""
    panels = [
        (f"{table.title} [{unit}]", [row for row in table.rows if row.unit == unit])
        for table in tables
        for unit in dict.fromkeys(row.unit for row in table.rows)
    ]
    rows = sum(len(panel) for _, panel in panels)
    with drawn(path, (WIDTH, ROW_HEIGHT * rows + PANEL_HEIGHT * len(panels) + 0.8)) as figure:
        figure.suptitle(title, x=0.01, ha="left")
        heights = [len(panel) + 1 for _, panel in panels]
        axes = figure.subplots(len(panels), squeeze=False, gridspec_kw={"height_ratios": heights})
        for one, (heading, panel) in zip(axes[:, 0], panels, strict=True):
            _panel(one, heading, panel)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower right", ncols=2, frameon=False, fontsize=8)


def _panel(axes: Axes, heading: str, rows: Sequence[Row]) -> None:
    paper, simulated = COLOURS[1], COLOURS[0]
    for place, row in enumerate(rows):
        if row.paper is not None and row.nearest is not None:
            axes.plot([row.nearest, row.simulated], [place, place], color="#bbbbbb", linewidth=1, zorder=1)
            if row.paper_to is not None:
                axes.plot([row.paper, row.paper_to], [place, place], color=paper, linewidth=5, alpha=0.5)
    known = [(place, row.nearest) for place, row in enumerate(rows) if row.nearest is not None]
    axes.plot(
        [x for _, x in known],
        [place for place, _ in known],
        "o",
        markerfacecolor="none",
        color=paper,
        label="paper",
    )
    for place, row in enumerate(rows):
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [place, place], color=simulated, linewidth=1.5)
    axes.plot([row.simulated for row in rows], range(len(rows)), "x", color=simulated, label="simulated")
    axes.set_yticks(range(len(rows)), labels=[row.what.strip() for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_title(heading, fontsize=9)
    axes.grid(alpha=0.3)
