"""DuckDB with its TPC-H extension, as the packages of workload.toml have it."""

from __future__ import annotations

import json
import math
import random
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import duckdb_ext

FILE = "tpch.db"


def stream(queries: str, seed: str) -> list[int]:
    """Numbers of a stream's queries. TPC-H chooses the order of each stream; here the seed draws it."""
    numbers = [int(number) for number in queries.split(",")]
    random.Random(int(seed)).shuffle(numbers)
    return numbers


def timed(
    connection: duckdb.DuckDBPyConnection, texts: Mapping[int, str], numbers: Sequence[int]
) -> tuple[dict[int, float], dict[int, list[tuple[Any, ...]]]]:
    """Run each query once, in this order: its time [s] and its answer."""
    seconds, answers = {}, {}
    for number in numbers:
        begun = time.perf_counter()
        answers[number] = connection.execute(texts[number]).fetchall()
        seconds[number] = time.perf_counter() - begun
    return seconds, answers


def watch_memory(connection: duckdb.DuckDBPyConnection) -> Path:
    """Have DuckDB write a profile of each query: its file."""
    profile = Path(tempfile.mkdtemp()) / "profile.json"
    connection.execute("SET enable_profiling = 'json'")
    connection.execute(f"SET profiling_output = '{profile}'")
    connection.execute("""SET custom_profiling_settings = '{"SYSTEM_PEAK_BUFFER_MEMORY": "true"}'""")
    return profile


def most_memory(profile: Path) -> int:
    """The most memory that DuckDB had at a time in the last query [B]."""
    return int(json.loads(profile.read_text())["system_peak_buffer_memory"])


def print_times(seconds: Collection[float]) -> None:
    """Print the measures of the queries' times."""
    print("measure total", sum(seconds) * 1e3)
    print("measure geometric_mean", math.exp(sum(map(math.log, seconds)) / len(seconds)) * 1e3)


def opened(folder: Path, **settings: Any) -> duckdb.DuckDBPyConnection:
    """The database of a folder, with the extension."""
    return _with_extension(str(folder / FILE), read_only=(folder / FILE).exists(), **settings)


def empty() -> duckdb.DuckDBPyConnection:
    """A database in memory without tables, with the extension."""
    return _with_extension(":memory:", read_only=False)


def copied(folder: Path, **settings: Any) -> duckdb.DuckDBPyConnection:
    """A copy of a folder's database in memory, with the extension."""
    connection = _with_extension(":memory:", read_only=False, **settings)
    connection.execute(f"ATTACH '{folder / FILE}' AS stored (READ_ONLY)")
    connection.execute("COPY FROM DATABASE stored TO memory")
    connection.execute("DETACH stored")
    return connection


def _with_extension(database: str, *, read_only: bool, **settings: Any) -> duckdb.DuckDBPyConnection:
    found = [file for place in duckdb_ext.__path__ for file in Path(place).rglob("tpch.duckdb_extension")]
    config = {"allow_unsigned_extensions": "true", **settings}
    connection = duckdb.connect(database, config=config, read_only=read_only)
    connection.execute(f"LOAD '{found[0]}'")
    return connection
