"""Write a cluster of PostgreSQL with TPC-H's tables: `data.py FOLDER scale=N` makes FOLDER/cluster.

The tables are dbgen's at the scale factor N/1000, with an index on each primary and foreign key. TPC-H fixes
dbgen's seed, so they are the same for each seed of a run. lineitem is partitioned by the year of shipping. As
one table it would be above a quarter of the server's memory, and PostgreSQL keeps no page of such a scan.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "duckdb-tpch"))

import cluster
import tpch

#: Primary key of each table, then its foreign keys (TPC-H, 1.4.2).
KEYS: dict[str, tuple[str, ...]] = {
    "region": ("r_regionkey",),
    "nation": ("n_nationkey", "n_regionkey"),
    "supplier": ("s_suppkey", "s_nationkey"),
    "customer": ("c_custkey", "c_nationkey"),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey, ps_suppkey", "ps_suppkey"),
    "orders": ("o_orderkey", "o_custkey"),
    # PostgreSQL wants the column of the partitions in the key.
    "lineitem": ("l_orderkey, l_linenumber, l_shipdate", "l_partkey, l_suppkey", "l_suppkey"),
}
#: Tables that are partitioned by the year of a date (TPC-H, 1.5.4), the column, and the years that it has.
PARTITIONED = {"lineitem": ("l_shipdate", range(1992, 1999))}
#: Memory that makes the indexes quickly.
LOADING = {"shared_buffers": "256MB", "maintenance_work_mem": "256MB"}


def fill(sockets: Path, scale: float, texts: Path) -> None:
    """Make the tables of the server whose socket is there."""
    source = tpch.empty()
    source.execute(f"CALL dbgen(sf = {scale})")
    connection = cluster.connected(sockets)
    cursor = connection.cursor()
    cursor.execute("CREATE EXTENSION pg_buffercache")
    for table, (primary, *foreign) in KEYS.items():
        text = texts / f"{table}.csv"
        source.execute(f"COPY {table} TO '{text}' (HEADER false, DELIMITER '|')")
        columns = source.execute(f"DESCRIBE {table}").fetchall()
        create(cursor, table, ", ".join(f"{name} {kind}" for name, kind, *_ in columns))
        with text.open() as rows:
            cursor.copy_expert(f"COPY {table} FROM STDIN (FORMAT csv, DELIMITER '|')", rows)
        cursor.execute(f"ALTER TABLE {table} ADD PRIMARY KEY ({primary})")
        for key in foreign:
            cursor.execute(f"CREATE INDEX ON {table} ({key})")
        cursor.execute(f"VACUUM (FREEZE, ANALYZE) {table}")
    cursor.execute("CHECKPOINT")
    connection.close()


def create(cursor: Any, table: str, columns: str) -> None:
    """Create a table, with its partitions if it has any."""
    if table not in PARTITIONED:
        cursor.execute(f"CREATE TABLE {table} ({columns})")
        return
    column, years = PARTITIONED[table]
    cursor.execute(f"CREATE TABLE {table} ({columns}) PARTITION BY RANGE ({column})")
    for year in years:
        span = f"FROM ('{year}-01-01') TO ('{year + 1}-01-01')"
        cursor.execute(f"CREATE TABLE {table}_{year} PARTITION OF {table} FOR VALUES {span}")


def main() -> None:
    """Make the cluster where its user may, then copy it."""
    folder, *values = sys.argv[1:]
    asked = dict(value.split("=", 1) for value in values)
    user = cluster.owner()
    # A user who is not root cannot reach a folder of root's home.
    with tempfile.TemporaryDirectory() as made:
        work = Path(made)
        found, texts = work / "cluster", work / "texts"
        texts.mkdir()
        cluster.given_to_owner(work)
        initialise = cluster.command(
            "initdb", "-D", found, "--no-locale", "-E", "UTF8", "--auth=trust", "-U", cluster.USER
        )
        subprocess.run(initialise, check=True, user=user, cwd=work, stdout=subprocess.DEVNULL)
        with subprocess.Popen(
            cluster.server(found, work, **LOADING), user=user, cwd=work, stderr=subprocess.DEVNULL
        ) as server:
            cluster.wait(work, server)
            fill(work, int(asked["scale"]) / 1000, texts)
            server.terminate()
        shutil.copytree(found, Path(folder) / "cluster")


if __name__ == "__main__":
    main()
