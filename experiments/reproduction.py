"""One figure of a paper, made and kept: what ran, its rows, its score.

::

    reproduce(figure) ── experiments that make it ──> Reproduction ──> FIGURE.json, FIGURE.parquet, FIGURE.png
    finished(DIR)     <── every FIGURE.json of a folder
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from cxlab.error import Code, InputError
from cxlab.file_format import Format
from cxlab.output import Cell, write_json, write_parquet
from msgspec import Struct

from experiments import comparison_plot, score
from experiments.experiment import Asked, Report
from experiments.paper_figures import MadeWith, PaperFigure
from experiments.report import Figures, Row


@dataclass(frozen=True)
class Reproduction:
    """A figure that has been made."""

    figure: PaperFigure
    quick: bool
    #: experiment -> its report
    reports: dict[str, Report]

    def tables(self) -> list[tuple[str, Figures]]:
        """Each table of this figure, with the name of its experiment."""
        return [
            (name, table)
            for name, report in self.reports.items()
            for table in report.tables
            if isinstance(table, Figures) and table.figure == self.figure.id
        ]

    @property
    def score(self) -> score.Score:
        """Score of all rows."""
        return score.of_tables(table.rows for _, table in self.tables())

    def write(self, folder: Path) -> None:
        """Write JSON, Parquet and the plot; the JSON comes last, so that it means that all are there."""
        stem = folder / self.figure.file_name
        write_parquet(stem.with_suffix(".parquet"), self._columns(), Format.EXPERIMENT)
        self.draw(stem.with_suffix(".png"))
        write_json(stem.with_suffix(".json"), self._document(), Format.EXPERIMENT)

    def draw(self, path: Path) -> None:
        """Write the plot."""
        comparison_plot.draw(
            path, f"{self.figure.id}: {self.figure.entry.title}", [t for _, t in self.tables()]
        )

    def _columns(self) -> dict[str, Sequence[Cell | None]]:
        rows = [(name, table.title, row) for name, table in self.tables() for row in table.rows]
        return {
            "figure": [self.figure.id for _ in rows],
            "experiment": [name for name, _, _ in rows],
            "table": [title for _, title, _ in rows],
            "what": [row.what.strip() for _, _, row in rows],
            "paper": [row.paper for _, _, row in rows],
            "paper_to": [row.paper_to for _, _, row in rows],
            "simulated": [float(row.simulated) for _, _, row in rows],
            "unit": [row.unit for _, _, row in rows],
            "low": [row.low for _, _, row in rows],
            "high": [row.high for _, _, row in rows],
            "difference": [row.difference for _, _, row in rows],
            "calibrated": [row.calibrated for _, _, row in rows],
            "place": [row.place for _, _, row in rows],
        }

    def _document(self) -> dict[str, Any]:
        return {
            **self.figure.document(),
            "quick": self.quick,
            "tables": [{"experiment": name, **table.document()} for name, table in self.tables()],
            "notes": {name: list(report.notes) for name, report in self.reports.items()},
            "score": self.score.document(),
        }


def reproduce(figure: PaperFigure, quick: bool, folder: Path) -> Reproduction:
    """Run what makes ``figure``; traces and logs go to ``folder``."""
    asked = Asked(quick, folder)
    return Reproduction(figure, quick, {one.name: one.measure(asked) for one in figure.experiments})


class _Table(Struct, frozen=True):
    """A table as `Figures.document` writes it, as far as it is read here."""

    rows: list[Row]


class _Written(Struct, frozen=True):
    """A figure's JSON file as `Reproduction.write` makes it, as far as it is read here."""

    id: str
    paper: str
    made_with: MadeWith
    quick: bool
    tables: list[_Table]


@dataclass(frozen=True)
class Finished:
    """A figure's JSON file."""

    id: str
    paper: str
    made_with: MadeWith
    quick: bool
    score: score.Score


def read(file: Path) -> Finished | None:
    """Read a finished figure. Another kind of file gives None."""
    try:
        found = msgspec.json.decode(file.read_bytes(), type=_Written)
    except msgspec.DecodeError:
        return None
    scored = score.of_tables(table.rows for table in found.tables)
    return Finished(found.id, found.paper, found.made_with, found.quick, scored)


def kept(file: Path) -> Finished | None:
    """Read a figure that an earlier command may have finished."""
    return read(file) if file.exists() else None


def finished(folder: Path) -> Sequence[Finished]:
    """Every figure that ``folder`` has, by id.

    Raises:
        InputError: it has none.

    """
    found = [one for file in sorted(folder.glob("*.json")) if (one := read(file)) is not None]
    if not found:
        valid = "a folder with results of `cxlab reproduce FIGURE --out DIR`"
        raise InputError(Code.EXPERIMENT, str(folder), "has no finished figure", valid)
    return found
