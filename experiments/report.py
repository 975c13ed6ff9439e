"""Tables of an experiment: figures beside a paper's (`Figures`), and any other (`Table`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cxlab import output
from cxlab.figure import Pair
from rich.table import Table as RichTable

Cell = str | int | float | None


#: Units of a row that are not plain absolutes: a change over a baseline, a ratio, and three shares.
CHANGE, RATIO, PAGES, PEAK, BASE, POINTS = "%", "x", "% of pages", "% of peak", "% of baseline", "points"


@dataclass(frozen=True)
class Row:
    """A figure of a paper beside the simulated one, in one unit."""

    what: str
    #: none: the paper has no figure for it
    paper: float | None
    simulated: float
    unit: str = CHANGE
    #: upper end, where the paper gives a range from `paper`; inside it the error is 0
    paper_to: float | None = None
    #: the machine was tuned on it, so it proves nothing
    calibrated: bool = False
    #: rows of one table with the same word are compared in their order
    rank: str | None = None
    #: the simulated figure's interval of 95 % over seeds; none: it has one seed
    low: float | None = None
    high: float | None = None
    #: where the paper's words put the row among those of its `rank`, without a number: 1 is the largest
    place: int | None = None

    @property
    def interval_text(self) -> str:
        """The interval, for people, and whether it shows that a change is real."""
        if self.low is None or self.high is None:
            return "-"
        text = (
            f"{self.low:+.1f} to {self.high:+.1f}"
            if self.unit == CHANGE
            else f"{self.low:.4g} to {self.high:.4g}"
        )
        if self.unit != CHANGE:
            return text
        return text + (", no difference shown" if self.low <= 0 <= self.high else ", real")

    @property
    def nearest(self) -> float | None:
        """The paper's figure. Of a range it is the value nearest to the simulated one."""
        if self.paper is None or self.paper_to is None:
            return self.paper
        return min(max(self.simulated, self.paper), self.paper_to)

    @property
    def in_points(self) -> bool:
        """Whether the difference is told in points."""
        return self.unit in (CHANGE, PAGES, PEAK, BASE, POINTS)

    @property
    def difference(self) -> float | None:
        """Simulated less paper: in points for shares and changes, else in percent of the paper's."""
        nearest = self.nearest
        if nearest is None:
            return None
        return self.simulated - nearest if self.in_points else (self.simulated / nearest - 1) * 100

    @property
    def error(self) -> str:
        """Text of `difference`, with its unit."""
        difference = self.difference
        if difference is None:
            return "-"
        return f"{difference:+.1f} {'points' if self.in_points else '%'}"

    @property
    def paper_text(self) -> str:
        """The paper's figure, for people."""
        if self.paper is None:
            return "-" if self.place is None else f"rank {self.place}"
        if self.paper_to is not None:
            return f"{self.paper:g} to {self.paper_to:g}"
        return f"{self.paper:+g} %" if self.unit == CHANGE else f"{self.paper:g}"

    @property
    def simulated_text(self) -> str:
        """The simulated figure, for people."""
        return f"{self.simulated:+.1f} %" if self.unit == CHANGE else f"{self.simulated:.2f} {self.unit}"


def change(new: float, old: float) -> float:
    """How much more the new one is [%]."""
    return (new / old - 1) * 100


@dataclass(frozen=True)
class Figures:
    """A table of the paper's figures, the simulated ones and their errors."""

    title: str
    rows: Sequence[Row]
    #: id of the paper's figure (figures.toml); none: of a study
    figure: str | None = None

    def shown(self) -> RichTable:
        """One row a figure."""
        has_intervals = any(row.low is not None for row in self.rows)
        more = ("95 % interval",) if has_intervals else ()
        table = output.table(("what", "paper", "simulated", "error", *more), title=self.title)
        for row in self.rows:
            last = (row.interval_text,) if has_intervals else ()
            table.add_row(row.what, row.paper_text, row.simulated_text, row.error, *last)
        return table

    def document(self) -> dict[str, Any]:
        """Every row with its unit."""
        return {"title": self.title, "figure": self.figure, "rows": [vars(row) for row in self.rows]}

    def pairs(self) -> list[Pair]:
        """The rows as bars of a figure."""
        return [Pair(row.what, row.paper, row.simulated) for row in self.rows]


@dataclass(frozen=True)
class Column:
    """A heading with its unit, and how numbers are written."""

    heading: str
    form: str = "{}"

    def text(self, cell: Cell) -> str:
        """A cell for people."""
        if cell is None:
            return "-"
        return cell if isinstance(cell, str) else self.form.format(cell)


@dataclass(frozen=True)
class Table:
    """Columns and rows; the first ``left`` columns are words."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    left: int = 1

    def shown(self) -> RichTable:
        """The cells in their columns' form."""
        table = output.table([column.heading for column in self.columns], title=self.title, left=self.left)
        for row in self.rows:
            table.add_row(*(column.text(cell) for column, cell in zip(self.columns, row, strict=True)))
        return table

    def document(self) -> dict[str, Any]:
        """The cells as they are."""
        headings = [column.heading for column in self.columns]
        return {"title": self.title, "headings": headings, "rows": [list(row) for row in self.rows]}
