"""cxlab-memo's workloads: what is timed, and what they refuse."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

#: Each kernel of STREAM 5.10 writes one array.
KERNELS, ARRAY_BYTES = ("copy", "scale", "add", "triad"), 1 << 20
#: The kernels are built for every x86-64 processor: they write with SSE2.
STORE_BYTES = 16


def run(tmp_path: Path, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cxlab", "workload", "run", name, "--size", "tiny"]
    out = ["--json", str(tmp_path / "result.json"), "--out", str(tmp_path / "run")]
    return subprocess.run(
        [*command, *out, *options], cwd=tmp_path, capture_output=True, text=True, check=False
    )


def test_detail_holds_the_counted_pass_of_stream_alone(tmp_path: Path) -> None:
    done = run(tmp_path, "memo-stream", "--membind", "cxl", "--no-prefetch")
    assert done.returncode == 0, done.stdout + done.stderr
    cores = json.loads((tmp_path / "run" / "statistics.json").read_text())["parts"]
    stores = sum(
        statistic["value"]
        for core in cores
        if core["name"].startswith("core")
        for statistic in core["statistics"]
        if statistic["name"] == "stores"
    )
    one_pass = len(KERNELS) * ARRAY_BYTES // STORE_BYTES
    # The rest are the kernel's, for barriers: a second pass would double them.
    assert one_pass <= stores < 1.5 * one_pass


@pytest.mark.parametrize("policy", [("--interleave", "dram,cxl"), ("--membind", "dram,cxl")])
def test_memo_measures_one_node(tmp_path: Path, policy: tuple[str, str]) -> None:
    done = run(tmp_path, "memo-latency", *policy)
    assert done.returncode == 2
    assert "give --membind NODE" in done.stderr
