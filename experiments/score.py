"""How near the simulation is to a paper: mean errors, and how many ranks are right.

::

    ratio      a change of -30 % is the ratio 0.70; a row in `x` is one already
    error      |simulated / paper - 1|; rows that the machine was tuned on are left out
    rank       two ratios of one group, or a ratio and its baseline (1.00): do both have the same order?

A pair counts as a rank only if the paper's two values differ. Where the paper orders rows in words alone,
a row has its place in that order. Shares of pages and differences have their mean error in points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean
from typing import Any

from experiments.report import CHANGE, PAGES, POINTS, RATIO, Row


@dataclass(frozen=True)
class Score:
    """Errors of rows, and ranks among them."""

    #: relative errors of ratios and of changes
    ratios: Sequence[float]
    #: relative errors of absolutes: ns, GB/s, % of peak
    absolutes: Sequence[float]
    #: errors of shares of pages and of differences [points]
    points: Sequence[float]
    #: of each pair, whether its order is the paper's
    ranks: Sequence[bool]
    #: rows that prove nothing
    calibrated: int = 0

    def document(self) -> dict[str, Any]:
        """The score as results have it; a mean of nothing is null."""
        return {
            "mean_error_of_ratios": _mean(self.ratios),
            "ratios": len(self.ratios),
            "mean_error_of_absolutes": _mean(self.absolutes),
            "absolutes": len(self.absolutes),
            "mean_error_in_points": _mean(self.points),
            "points": len(self.points),
            "ranks_right": sum(self.ranks),
            "ranks": len(self.ranks),
            "calibrated": self.calibrated,
        }

    def text(self) -> str:
        """One sentence for people."""
        parts = []
        if self.ratios:
            parts.append(f"mean error of {len(self.ratios)} ratios {mean(self.ratios):.1%}")
        if self.absolutes:
            parts.append(f"of {len(self.absolutes)} absolutes {mean(self.absolutes):.1%}")
        if self.points:
            parts.append(f"of {len(self.points)} shares {mean(self.points):.1f} points")
        ranks = f"{sum(self.ranks)} of {len(self.ranks)} ranks right" if self.ranks else "no ranks"
        tuned = f"; {self.calibrated} calibrated rows are left out" if self.calibrated else ""
        return ", ".join([*(parts or ["no figure of the paper is predicted"]), ranks]) + tuned


def of_tables(tables: Iterable[Sequence[Row]]) -> Score:
    """The score of all rows; ranks are within one table."""
    ratios, absolutes, points, ranks, calibrated = [], [], [], [], 0
    for rows in tables:
        known = [row for row in rows if row.paper is not None]
        ranks += _ranks(known) + _orders([row for row in rows if row.place is not None])
        for row in known:
            calibrated += row.calibrated
            if row.calibrated:
                continue
            if (pair := _as_ratio(row)) is not None:
                ratios.append(abs(pair[1] / pair[0] - 1))
            elif row.unit in (PAGES, POINTS):
                points.append(abs(row.difference or 0.0))
            else:
                assert row.nearest is not None
                absolutes.append(abs(row.simulated / row.nearest - 1))
    return Score(ratios, absolutes, points, ranks, calibrated)


def together(scores: Iterable[Score]) -> Score:
    """One score of many."""
    all_scores = list(scores)
    return Score(
        [error for one in all_scores for error in one.ratios],
        [error for one in all_scores for error in one.absolutes],
        [error for one in all_scores for error in one.points],
        [right for one in all_scores for right in one.ranks],
        sum(one.calibrated for one in all_scores),
    )


def _mean(errors: Sequence[float]) -> float | None:
    return mean(errors) if errors else None


def _as_ratio(row: Row) -> tuple[float, float] | None:
    """Paper and simulated as ratios to a baseline; None: the row is no ratio."""
    nearest = row.nearest
    if nearest is None or row.unit not in (CHANGE, RATIO):
        return None
    if row.unit == CHANGE:
        return 1 + nearest / 100, 1 + row.simulated / 100
    return nearest, row.simulated


def _ranks(rows: Sequence[Row]) -> list[bool]:
    """The order of each pair within a group, and of each ratio and its baseline."""
    found = []
    for row in rows:
        ratio = _as_ratio(row)
        if ratio is not None and ratio[0] != 1 and not row.calibrated:
            found.append((ratio[0] > 1) == (ratio[1] > 1))
    for one, other in combinations(rows, 2):
        comparable = one.rank is not None and (one.rank, one.unit) == (other.rank, other.unit)
        if not comparable or (one.calibrated and other.calibrated) or _overlap(one, other):
            continue
        assert one.paper is not None and other.paper is not None
        found.append((one.paper > other.paper) == (one.simulated > other.simulated))
    return found


def _orders(rows: Sequence[Row]) -> list[bool]:
    """The order of each pair that the paper puts in an order without numbers."""
    found = []
    for one, other in combinations(rows, 2):
        if one.rank is None or (one.rank, one.unit) != (other.rank, other.unit) or one.place == other.place:
            continue
        assert one.place is not None and other.place is not None
        found.append((one.place < other.place) == (one.simulated > other.simulated))
    return found


def _overlap(one: Row, other: Row) -> bool:
    """Whether the paper's values do not differ."""
    assert one.paper is not None and other.paper is not None
    upper_one = one.paper if one.paper_to is None else one.paper_to
    upper_other = other.paper if other.paper_to is None else other.paper_to
    return one.paper <= upper_other and other.paper <= upper_one
