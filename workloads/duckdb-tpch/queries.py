"""Run TPC-H's queries: `queries.py SCALE QUERIES THREADS SEED`.

Each query runs once to fill DuckDB's buffers, then, one after the other, each runs once in detail.
The answers are compared with those that TPC-H publishes.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import tpch
from answers import are_published


def main() -> int:
    """Measure and check."""
    thousandths, queries, threads, seed = sys.argv[1:]
    folder, scale = Path(os.environ["WORKLOAD_DATA"]), int(thousandths) / 1000
    numbers = tpch.stream(queries, seed)
    connection = tpch.opened(folder, threads=threads)
    texts = dict(connection.execute("SELECT query_nr, query FROM tpch_queries()").fetchall())
    region = ctypes.CDLL(f"{os.environ['WORKLOAD_BUILD']}/program")
    for number in numbers:
        connection.execute(texts[number]).fetchall()
    region.begin()
    seconds, answers = tpch.timed(connection, texts, numbers)
    region.end()
    if not are_published(connection, scale, answers):
        return 1
    tpch.print_times(seconds.values())
    return 0


if __name__ == "__main__":
    sys.exit(main())
