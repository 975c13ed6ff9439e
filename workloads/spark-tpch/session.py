"""Starts Spark on this machine: one JVM that is driver and executor, with one thread for tasks."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

#: The tables of TPC-H, a Parquet file each.
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
#: The queries' texts by number (JSON).
TEXTS = "queries.json"
#: An archive of the classes that Spark has loaded when a run ends. A JVM maps it, and loads fewer from jars.
CLASSES = "classes.jsa"
#: Of Debian. An archive of classes is good for one JVM, so it is named here for both.
JAVA = "/usr/lib/jvm/java-17-openjdk-amd64"
#: Of the JVM. Its quick compiler alone: the other one takes longer to compile than a run has.
JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
SETTINGS = {
    # No web page and no progress bar, and only the loopback is listened to.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # All joins shuffle, as those of the paper's large tables do.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # A query is planned before it is timed, and not again between its stages.
    "spark.sql.adaptive.enabled": "false",
}


def start(tables: Path, scratch: Path, *, heap: int, partitions: int, jvm: Sequence[str]) -> SparkSession:
    """Start a session with the tables of a folder. `heap` is in MB; `jvm` are further options of the JVM."""
    asked = ["--driver-memory", f"{heap}m", "--driver-java-options", " ".join((*JVM, *jvm))]
    os.environ["JAVA_HOME"] = JAVA
    os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join([*asked, "pyspark-shell"])
    builder = SparkSession.builder.master("local[1]").config("spark.local.dir", str(scratch))
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.config("spark.sql.shuffle.partitions", partitions).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    for table in TABLES:
        session.read.parquet(str(tables / f"{table}.parquet")).createOrReplaceTempView(table)
    return session


def end(session: SparkSession) -> None:
    """Stop a session, and wait until its JVM has ended: an archive of classes is written last."""
    jvm = session.sparkContext._gateway.proc
    session.stop()
    # A JVM of pyspark ends when nobody can write to it any more.
    jvm.stdin.close()
    jvm.wait()
