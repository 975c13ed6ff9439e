"""Compare answers with those that TPC-H publishes, at scale factors for which it does: 0.01, 0.1 and 1."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import duckdb

#: TPC-H, 2.1.3.5: how far sums and averages may be off.
SUM, AVERAGE = 100.0, 0.01


def is_equal(found: Any, wanted: str) -> bool:
    """Whether a cell is the published one."""
    if wanted in ("", "NULL"):
        return found is None or found == wanted
    if isinstance(found, float | Decimal | int):
        number = float(wanted)
        return (
            abs(float(found) - number) <= max(AVERAGE * abs(number), 0.01)
            and abs(float(found) - number) <= SUM
        )
    return str(found) == wanted


def is_answer(rows: list[tuple[Any, ...]], wanted: str) -> bool:
    """Whether all rows are the published ones."""
    # A line with nothing in it is a row whose one cell is none.
    lines = [line or [""] for line in csv.reader(io.StringIO(wanted), delimiter="|")][1:]
    return len(rows) == len(lines) and all(
        len(row) == len(line) and all(map(is_equal, row, line)) for row, line in zip(rows, lines, strict=True)
    )


def are_published(
    connection: duckdb.DuckDBPyConnection, scale: float, answers: Mapping[int, list[tuple[Any, ...]]]
) -> bool:
    """Whether all answers are the published ones; it says which is not."""
    published = connection.execute(
        "SELECT query_nr, answer FROM tpch_answers() WHERE scale_factor = ?", [scale]
    )
    for number, wanted in published.fetchall():
        if number in answers and not is_answer(answers[number], wanted):
            print(f"the answer of query {number} is not the published one", file=sys.stderr)
            return False
    return True
