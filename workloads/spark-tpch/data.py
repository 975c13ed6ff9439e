"""Write TPC-H's tables as Parquet, its queries, and Spark's classes: `data.py FOLDER scale=N`.

The tables are dbgen's at the scale factor N/1000. TPC-H fixes their seed. The classes are those that a JVM of
this host has loaded when it has answered the queries: an archive, as `-XX:ArchiveClassesAtExit` writes it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "duckdb-tpch"))

import session
import tpch

#: Memory that is enough for the least tables [MB].
HEAP = 1024
#: The queries that shuffle most (EuroSys'24, figure 7).
SHUFFLING = (5, 7, 8, 9)


def main() -> None:
    """Write all of it."""
    folder, *values = sys.argv[1:]
    asked = dict(value.split("=", 1) for value in values)
    made = Path(folder)
    source = tpch.empty()
    source.execute(f"CALL dbgen(sf = {int(asked['scale']) / 1000})")
    for table in session.TABLES:
        source.execute(f"COPY {table} TO '{made / table}.parquet' (FORMAT parquet, COMPRESSION snappy)")
    queries = source.execute("SELECT query_nr, query FROM tpch_queries()").fetchall()
    # Spark takes one statement, without a semicolon.
    texts = {number: text.rstrip(";\n") for number, text in queries}
    (made / session.TEXTS).write_text(json.dumps(texts))
    with tempfile.TemporaryDirectory() as scratch:
        archive = f"-XX:ArchiveClassesAtExit={made / session.CLASSES}"
        spark = session.start(made, Path(scratch), heap=HEAP, partitions=1, jvm=[archive])
        for number in SHUFFLING:
            spark.sql(texts[number]).collect()
        session.end(spark)


if __name__ == "__main__":
    main()
