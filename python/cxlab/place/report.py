"""Paper, simulated, error: the rows that an experiment prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """A figure of a paper beside the simulated one, in one unit."""

    what: str
    #: none: the paper has no figure for it
    paper: float | None
    simulated: float
    unit: str = "%"

    @property
    def error(self) -> str:
        """Simulated less paper: in points for shares and changes, else in percent of the paper's."""
        if self.paper is None:
            return "-"
        if self.unit == "%":
            return f"{self.simulated - self.paper:+.1f} points"
        return f"{(self.simulated / self.paper - 1) * 100:+.1f} %"


def change(new: float, old: float) -> float:
    """How much more the new one is [%]."""
    return (new / old - 1) * 100


def show(title: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> None:
    """Print the table, and what a reader must know of it."""
    table = Table(title=title, title_justify="left")
    for heading in ("what", "paper", "simulated", "error"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for row in rows:
        paper = (
            "-"
            if row.paper is None
            else f"{row.paper:+g} {row.unit}"
            if row.unit == "%"
            else f"{row.paper:g}"
        )
        simulated = f"{row.simulated:+.1f} %" if row.unit == "%" else f"{row.simulated:.2f} {row.unit}"
        table.add_row(row.what, paper, simulated, row.error)
    console = Console()
    console.print(table)
    for note in notes:
        console.print(note, highlight=False, soft_wrap=True)
