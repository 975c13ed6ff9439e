"""Run TPC-H's queries in too little memory: `spilled.py SCALE QUERIES SPILLED SEED`.

DuckDB may not keep SPILLED percent of what the queries have at a time, if they may. It has one thread.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from pathlib import Path

import duckdb
import tpch
from answers import are_published

DISK = Path(os.environ["WORKLOAD_DISK"])
#: Of /proc/diskstats: the device, sectors read and written. A sector has 512 bytes.
DEVICE, NAME, READ, WRITTEN, SECTOR = "vda", 2, 5, 9, 512
#: Memory that is enough for the tables and for the queries, for a scale factor of 1 [MB].
ENOUGH = 8000


def drive() -> tuple[int, int]:
    """Bytes that the drive has read and written."""
    for line in Path("/proc/diskstats").read_text().splitlines():
        words = line.split()
        if words[NAME] == DEVICE:
            return int(words[READ]) * SECTOR, int(words[WRITTEN]) * SECTOR
    raise SystemExit(f"/proc/diskstats has no {DEVICE}")


def away() -> float:
    """Share of the program's own pages on other nodes than the first [%]."""
    nodes: dict[str, int] = {}
    for line in Path("/proc/self/numa_maps").read_text().splitlines():
        words = line.split()
        if any(word.startswith("anon=") for word in words):
            for word in words:
                node, _, pages = word.partition("=")
                if node[:1] == "N" and node[1:].isdigit():
                    nodes[node] = nodes.get(node, 0) + int(pages)
    return 100 * (1 - nodes.get("N0", 0) / sum(nodes.values()))


def working_set(connection: duckdb.DuckDBPyConnection, texts: list[str]) -> float:
    """The most memory that the queries have at a time, with enough [MB]."""
    profile = Path(tempfile.mkdtemp()) / "profile.json"
    connection.execute("SET enable_profiling = 'json'")
    connection.execute(f"SET profiling_output = '{profile}'")
    connection.execute("""SET custom_profiling_settings = '{"SYSTEM_PEAK_BUFFER_MEMORY": "true"}'""")
    most = 0
    for text in texts:
        connection.execute(text).fetchall()
        most = max(most, json.loads(profile.read_text())["system_peak_buffer_memory"])
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
    before = drive()
    region.begin()
    seconds, answers = tpch.timed(connection, texts, numbers)
    region.end()
    read, written = (now - then for now, then in zip(drive(), before, strict=True))
    if not are_published(connection, scale, answers):
        return 1
    tpch.print_times(seconds.values())
    print("measure working_set", needed)
    print("measure read", read / 1e6)
    print("measure written", written / 1e6)
    print("measure away", away())
    return 0


if __name__ == "__main__":
    sys.exit(main())
