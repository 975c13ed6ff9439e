"""Sweeps on a real Slurm cluster of one machine: the same file, the same bytes."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from cxlab.error import InputError
from cxlab.run.interruption import Interruption
from cxlab.sweep import slurm

from .conftest import TINY, Write, cxlab, files, start

SWEEP = TINY.format(seeds="1, 2, 3, 4, 5") + "[slurm]\npartition = 'all'\nruns_per_task = 5\n"


def test_slurm_and_this_computer_write_the_same_files(write: Write, tmp_path: Path, slurm: Path) -> None:
    sweep, cluster = write(SWEEP), str(slurm)
    done = cxlab("sweep", sweep, "--out", "s", "--on", "slurm", folder=tmp_path, SLURM_CONF=cluster)
    assert done.returncode == 0, done.stderr
    # 20 runs, five a task.
    assert "submitted 4 tasks" in done.stdout and "all 20 runs are finished" in done.stdout
    assert cxlab("sweep", sweep, "--out", "l", folder=tmp_path).returncode == 0
    assert files(tmp_path / "s") == files(tmp_path / "l")
    assert not (tmp_path / "s" / "slurm.json").exists()


def test_submitted_tasks_outlive_the_command_and_are_found_again(
    write: Write, tmp_path: Path, slurm: Path
) -> None:
    sweep, cluster = write(SWEEP), str(slurm)
    running = start("sweep", sweep, "--out", "s", "--on", "slurm", folder=tmp_path, SLURM_CONF=cluster)
    while not (tmp_path / "s" / "slurm.json").exists():
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)
    running.kill()
    running.communicate()
    again = cxlab("sweep", sweep, "--out", "s", "--on", "slurm", folder=tmp_path, SLURM_CONF=cluster)
    assert again.returncode == 0 and "waiting for 4 tasks that were submitted before" in again.stdout
    # They had executed everything.
    assert "submitted 0 tasks" in again.stdout and len(files(tmp_path / "s")) == 21


def test_a_run_that_fails_on_the_cluster_says_why(write: Write, tmp_path: Path, slurm: Path) -> None:
    (tmp_path / "bad.trace").write_bytes(b"no trace")
    sweep = write('[axes]\nmachine = ["8468v-asic"]\n[workloads.bad]\nreplay = "bad.trace"\n')
    done = cxlab("sweep", sweep, "--out", "s", "--on", "slurm", folder=tmp_path, SLURM_CONF=str(slurm))
    assert done.returncode == 1 and "1 of 1 runs failed" in done.stderr


def test_without_a_cluster_it_says_what_is_missing(write: Write, tmp_path: Path) -> None:
    done = cxlab("sweep", write(SWEEP), "--on", "slurm", folder=tmp_path, PATH=str(tmp_path))
    assert done.returncode == 2 and "--on slurm" in done.stderr and "--on local" in done.stderr


def test_where_no_task_is_left_nobody_asks_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that has been run already, on a host whose controller is gone."""
    monkeypatch.setattr(slurm.subprocess, "run", lambda *_, **__: pytest.fail("squeue was asked"))
    slurm._wait([], Interruption())


def test_a_controller_that_is_gone_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = subprocess.CompletedProcess(
        [], 1, "", "slurm_load_jobs error: Unable to contact slurm controller\n"
    )
    monkeypatch.setattr(slurm.subprocess, "run", lambda *_, **__: gone)
    monkeypatch.setattr(slurm, "PERIOD", 0)
    with pytest.raises(InputError, match="squeue does not answer: slurm_load_jobs error"):
        slurm._queued()
