"""Run a stream of TPC-H's queries over tables on the drive: `stream.py SCALE QUERIES MEMORY SEED`.

Each query runs once, in detail. DuckDB has the memory MEMORY MB times the scale factor, and one thread.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tpch
from answers import are_published

DISK = Path(os.environ["WORKLOAD_DISK"])
#: Of /proc/diskstats: the device, reads completed, sectors read. A sector has 512 bytes.
DEVICE, NAME, READS, SECTORS, SECTOR = "vda", 2, 3, 5, 512


def drive() -> tuple[int, int]:
    """Requests that the drive has read, and their bytes."""
    for line in Path("/proc/diskstats").read_text().splitlines():
        words = line.split()
        if words[NAME] == DEVICE:
            return int(words[READS]), int(words[SECTORS]) * SECTOR
    raise SystemExit(f"/proc/diskstats has no {DEVICE}")


def main() -> int:
    """Measure and check."""
    thousandths, queries, memory, seed = sys.argv[1:]
    scale = int(thousandths) / 1000
    numbers = tpch.stream(queries, seed)
    limit = f"{float(memory) * scale:.1f}MB"
    profile = Path(tempfile.mkdtemp()) / "profile.json"
    connection = tpch.opened(DISK, threads=1, memory_limit=limit, temp_directory=str(DISK / "spilled"))
    texts = dict(connection.execute("SELECT query_nr, query FROM tpch_queries()").fetchall())
    connection.execute("SET enable_profiling = 'json'")
    connection.execute(f"SET profiling_output = '{profile}'")
    connection.execute("""SET custom_profiling_settings = '{"SYSTEM_PEAK_BUFFER_MEMORY": "true"}'""")
    region = ctypes.CDLL(f"{os.environ['WORKLOAD_BUILD']}/program")
    seconds: dict[int, float] = {}
    answers: dict[int, list[tuple[Any, ...]]] = {}
    footprint = 0
    requests, read = drive()
    region.begin()
    for number in numbers:
        begun = time.perf_counter()
        answers[number] = connection.execute(texts[number]).fetchall()
        seconds[number] = time.perf_counter() - begun
        footprint = max(footprint, json.loads(profile.read_text())["system_peak_buffer_memory"])
    region.end()
    requests, read = (after - before for after, before in zip(drive(), (requests, read), strict=True))
    connection.execute("SET enable_profiling = 'no_output'")
    if not are_published(connection, scale, answers):
        return 1
    tpch.print_times(seconds.values())
    print("measure read", read / 1e6)
    print("measure requests", requests)
    print("measure footprint", footprint / 1e6)
    return 0


if __name__ == "__main__":
    sys.exit(main())
