"""Data of workloads: hashes against known values, and TPC-H's answers, which a wrong cell does not pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from cxlab.workload import description, prepared
from shipped import WORKLOADS

from tests.loaded import loaded


@pytest.fixture(scope="module")
def dump() -> ModuleType:
    """workloads/redis-ycsb/data.py."""
    return loaded(WORKLOADS / "redis-ycsb" / "data.py")


def test_hashes_are_those_of_ycsb_and_of_java(dump: ModuleType) -> None:
    # YCSB's first record; "hello".hashCode() of Java, and the string whose hash is the least int.
    assert loaded(WORKLOADS / "ycsb_client" / "records.py").fnv_hash(0) == 6284781860667377211
    assert dump.java_hash("hello") == 99162322
    assert dump.java_hash("polygenelubricants") == -(2**31)


def test_redis_reads_the_dump_whole(dump: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "dump.rdb").write_bytes(dump.dump(300, 1))
    checked = subprocess.run(
        ["redis-check-rdb", tmp_path / "dump.rdb"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    # 300 hashes and the sorted set of their names.
    assert "301 keys read" in checked.stdout


def test_an_answer_with_a_wrong_cell_is_none() -> None:
    workload = description.load(WORKLOADS / "duckdb-tpch")
    python = prepared.fetched(workload)
    script = """
import answers
wanted = "name|sum|note\\nFRANCE|100.00|x\\nPERU|7.50|y\\n"
right = [("FRANCE", 100.004, "x"), ("PERU", 7.5, "y")]
assert answers.is_answer(right, wanted)
for wrong in (
    right[:1],
    [*right, right[0]],
    [right[1], right[0]],
    [("FRANCE", 103.0, "x"), right[1]],
    [("SPAIN", 100.0, "x"), right[1]],
    [("FRANCE", 100.0), right[1]],
):
    assert not answers.is_answer(wrong, wanted), wrong
# Query 17 at scale factor 0.01: one row, whose cell is none.
assert answers.is_answer([(None,)], "avg_yearly\\n\\n")
assert not answers.is_answer([], "avg_yearly\\n\\n") and not answers.is_answer([(1.0,)], "avg_yearly\\n\\n")
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": f"{python}:{workload.folder}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_duckdb_gives_tpchs_answers_to_every_query_that_figures_use() -> None:
    # On this host: the guest of test_tiny has two of them: the other four take 20 s there.
    workload = description.load(WORKLOADS / "duckdb-tpch")
    values = workload.values("tiny", [])
    assert values["queries"] == "1,3,6,9,13,18"
    variables = prepared.prepare(workload, values, seed=1).variables(workload, values, seed=1)
    done = subprocess.run(
        ["sh", str(workload.folder / "run.sh")],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "measure total" in done.stdout
