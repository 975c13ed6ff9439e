"""Figures whose bars are rows of validation/points.toml: each row is simulated by the bench that it names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice

from cxlab import figure
from cxlab.bench import figures, sweep

from experiments.experiment import Report
from experiments.report import PEAK, POINTS, RATIO, Figures, Row

#: Units of validation/points.toml that have another name in tables of experiments.
UNITS = {"%": PEAK, "x": RATIO, "points": POINTS}


def rows_of(sources: Sequence[str]) -> list[figures.Figure]:
    """The rows whose source begins with one of ``sources``, in the file's order."""
    return [row for row in figures.shipped() if row.source.startswith(tuple(sources))]


def figures_table(title: str, made: str, sources: Sequence[str]) -> Figures:
    """Simulate the rows of ``sources``: the table of figure ``made``."""
    wanted = rows_of(sources)
    points = iter(sweep.run([job for row in wanted for job in row.jobs()], title))
    rows = [_row(row, row.simulated(list(islice(points, len(row.jobs()))))) for row in wanted]
    return Figures(title, rows, made)


def report(tables: Sequence[Figures], notes: Sequence[str] = ()) -> Report:
    """The tables, and all their rows as bars."""
    pairs = [pair for table in tables for pair in table.pairs()]
    return Report(tables, notes, partial(figure.bars, title=tables[0].title, y="as tabled", pairs=pairs))


def _row(row: figures.Figure, simulated: float) -> Row:
    return Row(
        f"{row.what} ({row.role})",
        row.low,
        simulated,
        UNITS.get(row.unit, row.unit),
        paper_to=None if row.low == row.high else row.high,
        calibrated=row.role == "calibration",
        rank=_rank(row),
    )


def _rank(row: figures.Figure) -> str:
    """Rows that a reader compares: one metric at one load."""
    have = row.settings
    load = (have.get(key, "-") for key in ("metric", "how", "stream", "memo", "mix", "delay"))
    return " ".join(map(str, load))
