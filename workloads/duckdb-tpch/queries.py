"""Run TPC-H's queries: `queries.py SCALE QUERIES THREADS SEED`.

Each query runs once to fill DuckDB's buffers, then, one after the other, each runs once in detail.
The answers are compared with those that TPC-H publishes, at scale factors for which it does: 0.01, 0.1 and 1.
"""

from __future__ import annotations

import csv
import ctypes
import io
import math
import os
import random
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import tpch

#: TPC-H, 2.1.3.5: how far sums and averages may be off.
SUM, AVERAGE = 100.0, 0.01


def is_equal(found: Any, wanted: str) -> bool:
    """Whether a cell is the published one."""
    if isinstance(found, float | Decimal | int):
        number = float(wanted)
        return (
            abs(float(found) - number) <= max(AVERAGE * abs(number), 0.01)
            and abs(float(found) - number) <= SUM
        )
    return str(found) == wanted or (found is None and wanted in ("", "NULL"))


def is_answer(rows: list[tuple[Any, ...]], wanted: str) -> bool:
    """Whether all rows are the published ones."""
    lines = list(csv.reader(io.StringIO(wanted), delimiter="|"))[1:]
    return len(rows) == len(lines) and all(
        len(row) == len(line) and all(map(is_equal, row, line)) for row, line in zip(rows, lines, strict=True)
    )


def main() -> int:
    """Measure and check."""
    thousandths, queries, threads, seed = sys.argv[1:]
    folder, scale = Path(os.environ["WORKLOAD_DATA"]), int(thousandths) / 1000
    numbers = [int(number) for number in queries.split(",")]
    # The order of a stream of queries is TPC-H's to choose; here the seed draws it.
    random.Random(int(seed)).shuffle(numbers)
    connection = tpch.opened(folder, threads=threads)
    texts = dict(connection.execute("SELECT query_nr, query FROM tpch_queries()").fetchall())
    region = ctypes.CDLL(f"{os.environ['WORKLOAD_BUILD']}/program")
    for number in numbers:
        connection.execute(texts[number]).fetchall()
    seconds: dict[int, float] = {}
    answers: dict[int, list[tuple[Any, ...]]] = {}
    region.begin()
    for number in numbers:
        begun = time.perf_counter()
        answers[number] = connection.execute(texts[number]).fetchall()
        seconds[number] = time.perf_counter() - begun
    region.end()
    published = connection.execute(
        "SELECT query_nr, answer FROM tpch_answers() WHERE scale_factor = ?", [scale]
    )
    for number, wanted in published.fetchall():
        if number in answers and not is_answer(answers[number], wanted):
            print(f"the answer of query {number} is not the published one", file=sys.stderr)
            return 1
    print("measure total", sum(seconds.values()) * 1e3)
    print("measure geometric_mean", math.exp(sum(map(math.log, seconds.values())) / len(seconds)) * 1e3)
    return 0


if __name__ == "__main__":
    sys.exit(main())
