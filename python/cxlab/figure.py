"""Figures: one style, one way to write them.

with drawn(path) as figure: axes = figure.add_subplot(); ...   any figure
lines(path, ...), bars(path, ...)                              the two that most commands need

matplotlib is imported where a figure is drawn: it takes half a second, and most commands draw none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cxlab.output import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[str, object] = {
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "cxlab",
}
COLOURS = ("#2c7fb8", "#d95f0e", "#31a354", "#756bb1", "#636363", "#c51b8a", "#8c6d31", "#17becf")
DOTS_PER_INCH = 150
#: Width and height of a figure with one panel [inch].
SIZE = (7.2, 4.5)


@contextmanager
def drawn(path: Path, size: tuple[float, float] = SIZE) -> Iterator[Figure]:
    """Give an empty figure in the house's style. It is saved when the block ends."""
    from matplotlib import style
    from matplotlib.figure import Figure

    with style.context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        save(path, figure)


def save(path: Path, figure: Figure) -> None:
    """Write a figure, whole or not at all. Its kind is the path's ending; without one it is PNG."""
    kind = path.suffix.lstrip(".") or "png"
    # A date would make two figures of one run differ.
    metadata = {"Date": None} if kind == "svg" else {}
    with whole(path) as file:
        figure.savefig(file, dpi=DOTS_PER_INCH, format=kind, metadata=metadata)


def save_each(paths: Sequence[Path], draw: Callable[[], Figure], settings: Mapping[str, object]) -> None:
    """Draw one figure with further settings of the style, and write it in several kinds."""
    from matplotlib import style

    with style.context({**STYLE, **settings}):
        figure = draw()
        for path in paths:
            save(path, figure)


@dataclass(frozen=True)
class Line:
    """Values over x."""

    label: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


def lines(path: Path, title: str, x: str, y: str, curves: Sequence[Line]) -> None:
    """Draw curves; dashed ones are the paper's."""
    with drawn(path) as figure:
        axes = _axes(figure, title)
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


@dataclass(frozen=True)
class Pair:
    """Two bars side by side: a paper's figure, if there is one, and the simulated figure."""

    label: str
    paper: float | None
    simulated: float


def bars(path: Path, title: str, y: str, pairs: Sequence[Pair]) -> None:
    """Draw paper and simulated side by side."""
    with drawn(path) as figure:
        axes = _axes(figure, title)
        places = range(len(pairs))
        axes.bar([place - 0.2 for place in places], [pair.paper or 0.0 for pair in pairs], 0.4, label="paper")
        axes.bar([place + 0.2 for place in places], [p.simulated for p in pairs], 0.4, label="simulated")
        labels = [pair.label for pair in pairs]
        axes.set_xticks(list(places), labels=labels, rotation=20, ha="right", fontsize=8)
        axes.set_ylabel(y)
        axes.axhline(0, color="#636363", linewidth=0.8)
        axes.legend(frameon=False)


def _axes(figure: Figure, title: str) -> Axes:
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.grid(alpha=0.3)
    return axes
