"""DuckDB with its TPC-H extension, as the packages of workload.toml have it."""

from __future__ import annotations

import math
import random
from collections.abc import Collection
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


def print_times(seconds: Collection[float]) -> None:
    """Print the measures of the queries' times."""
    print("measure total", sum(seconds) * 1e3)
    print("measure geometric_mean", math.exp(sum(map(math.log, seconds)) / len(seconds)) * 1e3)


def opened(folder: Path, **settings: Any) -> duckdb.DuckDBPyConnection:
    """The database of a folder, with the extension."""
    found = [file for place in duckdb_ext.__path__ for file in Path(place).rglob("tpch.duckdb_extension")]
    config = {"allow_unsigned_extensions": "true", **settings}
    connection = duckdb.connect(str(folder / FILE), config=config, read_only=(folder / FILE).exists())
    connection.execute(f"LOAD '{found[0]}'")
    return connection
