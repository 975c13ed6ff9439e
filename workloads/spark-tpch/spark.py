"""Time TPC-H's queries in Spark: `spark.py SCALE QUERIES HEAP PARTITIONS PASSES SEED`.

Spark has a heap of HEAP MB and shuffles into PARTITIONS. The queries have run PASSES times before.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import answers
import session
import tpch
from pyspark.sql import DataFrame, SparkSession

DISK = Path(os.environ["WORKLOAD_DISK"])


def planned(spark: SparkSession, texts: dict[str, str], numbers: list[int]) -> dict[int, DataFrame]:
    """Plan each query anew: of a plan that has run, Spark keeps what was shuffled."""
    found = {number: spark.sql(texts[str(number)]) for number in numbers}
    for query in found.values():
        query._jdf.queryExecution().executedPlan()
    return found


def totals(spark: SparkSession) -> Any:
    """Totals that Spark has counted of its executor."""
    # Spark counts a task after it has ended.
    time.sleep(1)
    return spark.sparkContext._jsc.sc().statusStore().executorList(True).apply(0)


def main() -> int:
    """Measure and check."""
    thousandths, queries, heap, partitions, passes, seed = sys.argv[1:]
    numbers = tpch.stream(queries, seed)
    archive = f"-XX:SharedArchiveFile={os.environ['WORKLOAD_DATA']}/{session.CLASSES}"
    spark = session.start(DISK, DISK / "scratch", heap=int(heap), partitions=int(partitions), jvm=[archive])
    texts = json.loads((DISK / session.TEXTS).read_text())
    for _ in range(int(passes)):
        for query in planned(spark, texts, numbers).values():
            query.collect()
    timed = planned(spark, texts, numbers)
    region = ctypes.CDLL(f"{os.environ['WORKLOAD_BUILD']}/program")
    before = totals(spark)
    seconds, found = {}, {}
    region.begin()
    for number, query in timed.items():
        begun = time.perf_counter()
        found[number] = [tuple(row) for row in query.collect()]
        seconds[number] = time.perf_counter() - begun
    region.end()
    after = totals(spark)
    if not answers.are_published(tpch.empty(), int(thousandths) / 1000, found):
        return 1
    tpch.print_times(seconds.values())
    print("measure shuffled", (after.totalShuffleWrite() - before.totalShuffleWrite()) / 1e6)
    print("measure collected", after.totalGCTime() - before.totalGCTime(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
