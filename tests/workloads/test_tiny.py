"""Each workload runs in a guest at its least size, and measures what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cxlab.workload import description
from shipped import WORKLOADS

NAMES = sorted(description.shipped(WORKLOADS))
#: A small size fits the caches, and STREAM marks its region after a first pass. In an LLC of 1.9 MB, written
#: lines have to leave for memory.
ONE_SLICE = ["--set", "host.llc.slices=1", "--set", "host.home.requests_of_core=32"]
OPTIONS = {
    "memo-stream": ["--with", "threads=1", "--with", "array_mib=2", *ONE_SLICE],
    "llama-decode": ["--with", "threads=2"],
    "duckdb-tpch-drive": ["--with", "queries=6"],
    "postgresql-tpch": ["--with", "queries=14", "--with", "streams=2"],
    # The answers to all six queries are checked on the host, in test_data.py.
    "duckdb-tpch": ["--with", "queries=6"],
    "embedding-torch": ["--with", "threads=2"],
    "spark-tpch": ["--with", "passes=1"],
}

#: `duckdb-tpch` has their program in each run of the tests. PostgreSQL and RocksDB too read from the drive.
#: `test_memo_programs.py` has STREAM in each run.
#: `scripts/setup tests` has no packages of Spark and torch.
ONCE_A_WEEK = {"memo-stream", "duckdb-tpch-drive", "duckdb-tpch-spilled", "embedding-torch", "spark-tpch"}
#: A run of a small size stays small. Spark's least query has dozens of tasks.
MOST_INSTRUCTIONS, MOST_OF_SPARK = 200e6, 6e9


def run(tmp_path: Path, name: str, *options: str) -> dict[str, Any]:
    out = tmp_path / "result.json"
    command = [sys.executable, "-m", "cxlab", "workload", "run", name, "--size", "tiny", "--json", str(out)]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "run"), *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(out.read_text())
    assert done.stdout.startswith(document["subject"])
    return document


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.once_a_week if name in ONCE_A_WEEK else ()) for name in NAMES],
)
def test_a_tiny_one_runs_and_measures_all_that_it_names(name: str, tmp_path: Path) -> None:
    document = run(tmp_path, name, "--membind", "cxl", *OPTIONS.get(name, []))
    workload = description.load(WORKLOADS / name)
    assert set(document["measures"]) == set(workload.document.measures)
    assert document["runs"][0]["simulated_s"] > 0
    most = MOST_OF_SPARK if name == "spark-tpch" else MOST_INSTRUCTIONS
    assert document["runs"][0]["instructions"] < most
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["nodes"]["cxl"]["read_bytes"] > 0


def test_throughput_is_that_of_the_connections_by_littles_law(tmp_path: Path) -> None:
    # Closed loop: connections = throughput x latency, but for the client's own time between two requests.
    document = run(tmp_path, "redis-ycsb", "--membind", "dram", "--with", "connections=4")
    found = {name: one["seeds"][0] for name, one in document["measures"].items()}
    under_way = found["throughput"] * found["latency_mean"] * 1e-6
    assert 2 < under_way <= 4
    assert found["latency_p50"] <= found["latency_p99"]


def test_a_group_beside_has_its_table_on_its_node_and_is_not_counted(tmp_path: Path) -> None:
    # Two of four threads gather from the other socket's DDR, Linux's node 2.
    groups = ["--with", "threads=4", "--with", "beside=2"]
    document = run(tmp_path, "embedding", "--machine", "6430-cxl-a", "--membind", "cxl", *groups)
    nodes = document["runs"][0]["nodes"]
    # Two threads have 12 queries of 80 rows of 256 B each. Most rows of 2 MB are asked for once or twice.
    gathered = 2 * 12 * 80 * 256
    assert nodes["cxl"]["read_bytes"] > gathered / 2 and nodes["remote"]["read_bytes"] > gathered / 2
    rate, slowest_us = (document["measures"][name]["seeds"][0] for name in ("throughput", "slowest_thread"))
    # Each counted thread has done its 10 queries by the slowest one's time. Four threads would be 4 at least.
    assert 2 <= rate * slowest_us * 1e-6 / 10 < 4


@pytest.mark.once_a_week
def test_what_memory_has_no_room_for_goes_to_the_drive_and_comes_back(tmp_path: Path) -> None:
    document = run(tmp_path, "duckdb-tpch-spilled", "--membind", "dram", "--with", "spilled=20")
    found = {name: one["seeds"][0] for name, one in document["measures"].items()}
    # The query runs twice in too little memory. What its first run has spilled, its second one reads.
    assert found["read"] > 1 and found["written"] > 1
    assert found["away"] == 0


def test_a_rate_that_the_server_can_serve_is_the_throughput(tmp_path: Path) -> None:
    document = run(tmp_path, "redis-ycsb", "--membind", "dram", "--with", "rate=20000")
    # 100 requests at 20,000 a second: the last one is answered one latency after 99 periods.
    assert document["measures"]["throughput"]["seeds"][0] == pytest.approx(20_000, rel=0.1)


def test_a_program_that_fails_ends_the_command_and_says_where(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "run.sh").write_text("echo gone wrong >&2; exit 3\n")
    (folder / "workload.toml").write_text(
        'about = "a"\nprogram = "stand-in"\nwhat = "b"\nmeans = "c"\nscript = "run.sh"\n'
        '[measures]\nm = { about = "d", unit = "1", better = "more" }\n'
        '[sizes.tiny]\nabout = "e"\nvalues = {}\n'
    )
    command = [sys.executable, "-m", "cxlab", "workload", "run", str(folder), "--size", "tiny"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "gone wrong" in done.stderr and "ended with status 3" in done.stderr
