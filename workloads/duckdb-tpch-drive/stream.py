"""Run a stream of TPC-H's queries over tables on the drive: `stream.py SCALE QUERIES MEMORY SEED`.

Each query runs once, in detail. DuckDB has the memory MEMORY MB times the scale factor, and one thread.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

import drive
import tpch
from answers import are_published

DISK = Path(os.environ["WORKLOAD_DISK"])


def main() -> int:
    """Measure and check."""
    thousandths, queries, memory, seed = sys.argv[1:]
    scale = int(thousandths) / 1000
    numbers = tpch.stream(queries, seed)
    limit = f"{float(memory) * scale:.1f}MB"
    connection = tpch.opened(DISK, threads=1, memory_limit=limit, temp_directory=str(DISK / "spilled"))
    texts = dict(connection.execute("SELECT query_nr, query FROM tpch_queries()").fetchall())
    profile = tpch.watch_memory(connection)
    region = ctypes.CDLL(f"{os.environ['WORKLOAD_BUILD']}/program")
    seconds: dict[int, float] = {}
    answers: dict[int, list[tuple[Any, ...]]] = {}
    footprint = 0
    before = drive.traffic()
    region.begin()
    for number in numbers:
        took, answer = tpch.timed(connection, texts, [number])
        seconds |= took
        answers |= answer
        footprint = max(footprint, tpch.most_memory(profile))
    region.end()
    done = drive.traffic().since(before)
    connection.execute("SET enable_profiling = 'no_output'")
    if not are_published(connection, scale, answers):
        return 1
    tpch.print_times(seconds.values())
    print("measure read", done.read / 1e6)
    print("measure requests", done.reads)
    print("measure footprint", footprint / 1e6)
    return 0


if __name__ == "__main__":
    sys.exit(main())
