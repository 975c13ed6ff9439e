"""Lines over the share of CXL memory, over executions, or bars of paper and simulated."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cxlab.bench.plot import COLOURS, STYLE
from cxlab.place.report import Row


@dataclass(frozen=True)
class Line:
    """Values over x."""

    label: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


def lines(path: Path, title: str, x: str, y: str, curves: Sequence[Line]) -> None:
    """Draw curves; dashed ones are the paper's."""

    def draw(axes: Axes) -> None:
        for number, curve in enumerate(curves):
            axes.plot(
                [point[0] for point in curve.points],
                [point[1] for point in curve.points],
                label=curve.label,
                color=COLOURS[number % len(COLOURS)],
                linestyle="--" if curve.dashed else "-",
                marker="x" if curve.dashed else "o",
                markersize=4,
            )
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, fontsize=8)

    _write(path, title, draw)


def bars(path: Path, title: str, y: str, rows: Sequence[Row]) -> None:
    """Draw paper and simulated side by side."""

    def draw(axes: Axes) -> None:
        places = range(len(rows))
        axes.bar([place - 0.2 for place in places], [row.paper or 0.0 for row in rows], 0.4, label="paper")
        axes.bar([place + 0.2 for place in places], [row.simulated for row in rows], 0.4, label="simulated")
        axes.set_xticks(list(places), labels=[row.what for row in rows], rotation=20, ha="right", fontsize=8)
        axes.set_ylabel(y)
        axes.axhline(0, color="#636363", linewidth=0.8)
        axes.legend(frameon=False)

    _write(path, title, draw)


def _write(path: Path, title: str, draw: object) -> None:
    assert callable(draw)
    with style.context(STYLE):
        figure = Figure(figsize=(7.2, 4.5), layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes.set_title(title)
        axes.grid(alpha=0.3)
        unfinished = path.with_name(f".{path.name}.unfinished")
        figure.savefig(unfinished, dpi=150, format=path.suffix.lstrip(".") or "png")
        os.replace(unfinished, path)
