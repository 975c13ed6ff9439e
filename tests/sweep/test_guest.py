"""A program in a guest is a run of a sweep as any other."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Write, cxlab, gone


def test_a_guest_is_a_run(write: Write, tmp_path: Path) -> None:
    sweep = write(
        '[axes]\nmachine = ["8468v-asic"]\nplacement = ["cxl"]\n'
        '[workloads.count]\nrun = ["sh", "-c", "for i in $(seq 100); do :; done"]\n'
    )
    dry = cxlab("sweep", sweep, "--dry-run", folder=tmp_path)
    assert "and 1 guests of the workload count: unknown before one has run" in dry.stdout, dry.stderr
    done = cxlab("sweep", sweep, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    question = "SELECT nodes_cxl_loads, instructions_user FROM runs"
    [row] = json.loads(cxlab("query", question, "--format", "json", folder=tmp_path).stdout)
    assert row["nodes_cxl_loads"] > 0 and row["instructions_user"] > 0
    assert gone(tmp_path) and not (tmp_path / "cxlab-sweeps/tiny/scratch").exists()
