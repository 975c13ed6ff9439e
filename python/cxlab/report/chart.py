"""A chart: what Plotly draws, what it says in words, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cxlab.figure import COLOURS

#: Of Plotly; series differ by these, so that colour is never needed.
SYMBOLS = ("circle", "square", "diamond", "x", "triangle-up", "cross", "star", "hexagon")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
PATTERNS = ("", "/", "x", ".", "-", "|", "+", "\\")

Cell = str | float | int | None


@dataclass(frozen=True)
class Series:
    """A line: values over x."""

    label: str
    points: Sequence[tuple[float, float]]
    #: measured on hardware: drawn by symbols alone
    silicon: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart of the page."""

    title: str
    #: for who cannot see it: what is drawn over what, and what stands out
    alt: str
    traces: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Axis:
    """A title with its unit."""

    title: str
    logarithmic: bool = False

    def layout(self) -> dict[str, Any]:
        """Return the layout as Plotly takes it."""
        kind = "log" if self.logarithmic else "linear"
        return {"title": {"text": self.title}, "type": kind, "rangemode": "tozero"}


def lines(title: str, alt: str, x: Axis, y: Axis, series: Sequence[Series]) -> Chart:
    """Series over x."""
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "name": one.label,
            "mode": "markers" if one.silicon else "lines+markers",
            "x": [point[0] for point in one.points],
            "y": [point[1] for point in one.points],
            "line": {"color": COLOURS[place % len(COLOURS)], "dash": DASHES[place % len(DASHES)]},
            "marker": {"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 12 if one.silicon else 6},
        }
        for place, one in enumerate(series)
    ]
    rows = [(one.label, *point) for one in series for point in one.points]
    layout = {"xaxis": x.layout(), "yaxis": y.layout()}
    return Chart(title, alt, traces, layout, ("series", x.title, y.title), rows)


def stacks(title: str, alt: str, y: Axis, columns: Mapping[str, Mapping[str, float]]) -> Chart:
    """A stack of parts for each column."""
    parts = list(dict.fromkeys(part for of in columns.values() for part in of))
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": part,
            "x": list(columns),
            "y": [of.get(part, 0.0) for of in columns.values()],
            "marker": {
                "color": COLOURS[(place + place // len(COLOURS)) % len(COLOURS)],
                "pattern": {
                    # A second round of patterns is finer, and has no plain one.
                    "shape": (PATTERNS + PATTERNS[1:])[place % (2 * len(PATTERNS) - 1)],
                    "size": 8 if place < len(PATTERNS) else 4,
                    "fgopacity": 0.7,
                },
            },
        }
        for place, part in enumerate(parts)
    ]
    rows = [(column, part, of[part]) for column, of in columns.items() for part in of]
    # Parts below 0 (what a column gains) stand below the axis.
    layout = {"barmode": "relative", "yaxis": y.layout()}
    return Chart(title, alt, traces, layout, ("column", "part", y.title), rows)
