"""DuckDB with its TPC-H extension, as the packages of workload.toml have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import duckdb_ext

FILE = "tpch.db"


def opened(folder: Path, **settings: Any) -> duckdb.DuckDBPyConnection:
    """The database of a folder, with the extension."""
    found = [file for place in duckdb_ext.__path__ for file in Path(place).rglob("tpch.duckdb_extension")]
    config = {"allow_unsigned_extensions": "true", **settings}
    connection = duckdb.connect(str(folder / FILE), config=config, read_only=(folder / FILE).exists())
    connection.execute(f"LOAD '{found[0]}'")
    return connection
