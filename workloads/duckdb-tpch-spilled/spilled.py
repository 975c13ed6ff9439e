"""Run TPC-H's queries in too little memory: `spilled.py SCALE QUERIES SPILLED SEED`.

DuckDB may not keep SPILLED percent of what the queries have at a time, if they may. It has one thread.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import drive
import duckdb
import tpch
from answers import are_published

AWAY = Path(__file__).parent.parent / "tiering" / "away.awk"
DISK = Path(os.environ["WORKLOAD_DISK"])
#: Memory that is enough for the tables and for the queries, for a scale factor of 1 [MB].
ENOUGH = 8000


def working_set(connection: duckdb.DuckDBPyConnection, texts: list[str]) -> float:
    """The most memory that the queries have at a time, with enough [MB]."""
    profile = tpch.watch_memory(connection)
    most = 0
    for text in texts:
        connection.execute(text).fetchall()
        most = max(most, tpch.most_memory(profile))
    connection.execute("SET enable_profiling = 'no_output'")
    return most / 1e6


def limit(connection: duckdb.DuckDBPyConnection, megabytes: float) -> bool:
    """Give DuckDB so much memory. It moves to the drive what does not fit. Whether it could."""
    try:
        connection.execute(f"SET memory_limit = '{megabytes:.1f}MB'")
    except duckdb.OutOfMemoryException:
        return False
    return True


def opened(scale: float) -> duckdb.DuckDBPyConnection:
    """The tables in memory. What can be moved to the drive is there, as the queries may never need it."""
    connection = tpch.copied(DISK, threads=1, temp_directory=str(DISK / "spilled"))
    megabytes = ENOUGH * scale
    while limit(connection, megabytes):
        megabytes *= 0.8
    limit(connection, ENOUGH * scale)
    return connection


def main() -> int:
    """Measure and check."""
    thousandths, queries, spilled, seed = sys.argv[1:]
    scale = int(thousandths) / 1000
    numbers = tpch.stream(queries, seed)
    connection = opened(scale)
    texts = dict(connection.execute("SELECT query_nr, query FROM tpch_queries()").fetchall())
    needed = working_set(connection, [texts[number] for number in numbers])
    if int(spilled) and not limit(connection, needed * (100 - int(spilled)) / 100):
        raise SystemExit(f"DuckDB cannot spill {spilled} % of {needed:.1f} MB")
    for number in numbers:
        connection.execute(texts[number]).fetchall()
    region = ctypes.CDLL(f"{os.environ['WORKLOAD_BUILD']}/program")
    before = drive.traffic()
    region.begin()
    seconds, answers = tpch.timed(connection, texts, numbers)
    region.end()
    done = drive.traffic().since(before)
    if not are_published(connection, scale, answers):
        return 1
    tpch.print_times(seconds.values())
    print("measure working_set", needed)
    print("measure read", done.read / 1e6)
    print("measure written", done.written / 1e6, flush=True)
    subprocess.run(["awk", "-f", AWAY, f"/proc/{os.getpid()}/numa_maps"], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
