"""Sweeps on this computer: killed at any moment they lose and repeat nothing, and end with the same bytes."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from cxlab import lifeline
from cxlab.cli import sweep as sweep_command

from .conftest import TINY, Write, cxlab, files, gone, start

TRACES = Path(__file__).resolve().parents[1] / "golden" / "traces"
KILLS = 12
#: Four columns of a hundred seeds.
ALL_RUNS = 400
#: Runs that a sweep may finish before a kill, and the longest wait after the last of them [s].
MOST_RUNS, LONGEST = 25, 0.15


def count(folder: Path) -> int:
    """Number of finished runs."""
    return len(list((folder / "runs").glob("*.parquet")))


@pytest.mark.once_a_week
def test_killed_at_random_it_ends_with_the_bytes_of_an_undisturbed_one(write: Write, tmp_path: Path) -> None:
    sweep = write(TINY.format(seeds=", ".join(map(str, range(1, 101)))))
    kill_at = random.Random(18)
    finished: dict[str, tuple[int, int]] = {}
    disturbed = tmp_path / "disturbed"
    for _ in range(KILLS):
        running = start("sweep", sweep, "--out", disturbed, folder=tmp_path)
        enough = len(finished) + kill_at.randrange(MOST_RUNS)
        while count(disturbed) < enough and running.poll() is None:
            time.sleep(0.01)
        time.sleep(kill_at.uniform(0, LONGEST))
        running.kill()
        running.communicate()
        assert gone(tmp_path), "processes outlive a sweep that was killed"
        if (disturbed / "runs").is_dir():
            written = {path.name: path.stat() for path in (disturbed / "runs").glob("*.parquet")}
            now = {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in written.items()}
            # No run that was finished is executed again.
            assert all(now[name] == stat for name, stat in finished.items())
            finished = now
        # A fast host is far on; the next kill is to come before the end.
        if len(finished) > ALL_RUNS / 2:
            break
    assert 0 < len(finished) < ALL_RUNS, "the kills came before the first run's end, or after the last one's"
    assert cxlab("sweep", sweep, "--out", disturbed, folder=tmp_path).returncode == 0
    assert all((disturbed / "runs" / name).stat().st_ino == inode for name, (inode, _) in finished.items())
    # One process in place of many: another order of the runs' ends.
    done = cxlab("sweep", sweep, "--out", "calm", "--processes", "1", folder=tmp_path)
    assert done.returncode == 0 and "all 400 runs are finished" in done.stdout, done.stderr
    assert files(disturbed) == files(tmp_path / "calm")
    assert len(files(disturbed)) == 401


def test_a_log_is_told_how_many_runs_are_finished(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_command, "LOG_PERIOD", 0.0)
    arguments = [str(write(TINY.format(seeds="1, 2"))), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(sweep_command.command, arguments, catch_exceptions=False)
    lines = [line for line in done.output.splitlines() if "runs are finished, about" in line]
    assert [line.split()[0] for line in lines] == [str(number) for number in range(1, 9)]
    assert all(re.fullmatch(r"\d of 8 runs are finished, about \d+ seconds? left", line) for line in lines)


def test_a_worker_that_dies_before_its_first_run_is_said(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifeline, "of_this_process", lambda: lambda: os._exit(9))
    arguments = [str(write(TINY.format(seeds="1"))), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(sweep_command.command, arguments, catch_exceptions=False)
    assert done.output.count("its process ended with status 9") == 4
    assert "4 of 4 runs failed; the same command tries them again" in done.output


def test_killed_replays_end_with_the_bytes_of_undisturbed_ones() -> None:
    """`make sweep-kill-test` is the same with 10,000 replays and 20 kills."""
    script = Path(__file__).resolve().parents[2] / "scripts" / "sweep_kills.py"
    command = [sys.executable, str(script), "--replays", "8", "--kills", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith("the same files, every byte")


def test_ctrl_c_leaves_no_process_and_no_half_file(write: Write, tmp_path: Path) -> None:
    sweep = write(TINY.format(seeds=", ".join(map(str, range(1, 201)))))
    running = start("sweep", sweep, "--out", "out", folder=tmp_path)
    runs = tmp_path / "out" / "runs"
    while count(tmp_path / "out") < 3:
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate()
    assert running.returncode == 128 + signal.SIGINT, errors
    assert "of 800 runs are left; the same command goes on" in errors
    assert gone(tmp_path)
    assert all(path.suffix == ".parquet" for path in runs.iterdir())
    assert not (tmp_path / "out" / "scratch").exists()


def test_replays_and_benches_are_asked_by_sql(write: Write, tmp_path: Path) -> None:
    machines = '[axes]\nmachine = ["8468v-asic", "8468v-fpga"]\n'
    idle = write(machines + 'placement = ["cxl"]\n[workloads.idle]\nbench = "latency"\n')
    dry = cxlab("sweep", idle, "--dry-run", folder=tmp_path)
    assert dry.stdout.startswith("2 runs, 0 of them finished\nabout "), dry.stderr
    assert not (tmp_path / "cxlab-sweeps").exists()
    assert cxlab("sweep", idle, folder=tmp_path).returncode == 0
    question = "SELECT machine, latency_ns FROM runs WHERE workload = 'idle' ORDER BY machine"
    rows = json.loads(cxlab("query", question, "--format", "json", folder=tmp_path).stdout)
    # CXL-DMSim, table II: 284 and 375 ns, which calibrate these machines (within 2 %: DEVIATIONS, MIS-11).
    assert [row["latency_ns"] for row in rows] == pytest.approx([284, 375], rel=0.02)
    # A replay's statistics, on a slower device: the same loads take longer.
    again = tmp_path / "again.toml"
    again.write_text(f'{machines}[workloads.again]\nreplay = "{TRACES / "chase.trace"}"\n')
    replayed = cxlab("sweep", again, folder=tmp_path)
    assert replayed.returncode == 0, replayed.stderr
    question = (
        "SELECT value FROM statistics WHERE statistic = 'nodes.cxl.mean_load_latency_ns' "
        "AND workload = 'again' ORDER BY machine"
    )
    asked = cxlab("query", question, "cxlab-sweeps/again", "--format", "csv", folder=tmp_path)
    asic, fpga = map(float, asked.stdout.split()[1:])
    assert fpga > asic > 0
    refused = cxlab("query", "COPY runs TO 'stolen.csv'", folder=tmp_path)
    assert refused.returncode == 2 and not (tmp_path / "stolen.csv").exists()


def test_a_run_that_fails_is_named_and_tried_again(write: Write, tmp_path: Path) -> None:
    trace = tmp_path / "bad.trace"
    trace.write_bytes(b"no trace")
    sweep = write('[axes]\nmachine = ["8468v-asic"]\n[workloads.bad]\nreplay = "bad.trace"\n')
    for _ in range(2):
        done = cxlab("sweep", sweep, folder=tmp_path)
        assert done.returncode == 1
        assert "failed: bad on 8468v-asic, default, seed 1 (" in done.stderr
        assert "1 of 1 runs failed; the same command tries them again" in done.stderr


def test_two_sweeps_do_not_share_a_folder(write: Write, tmp_path: Path) -> None:
    sweep = write(TINY.format(seeds=", ".join(map(str, range(1, 301)))))
    first = start("sweep", sweep, "--out", "out", folder=tmp_path)
    while not (tmp_path / "out" / "sweep.json").exists():
        time.sleep(0.05)
    second = cxlab("sweep", sweep, "--out", "out", folder=tmp_path)
    first.kill()
    first.communicate()
    assert second.returncode == 2 and "another sweep is at work there" in second.stderr


def test_a_folder_that_cannot_be_made_is_named_not_its_parent(write: Write, tmp_path: Path) -> None:
    sweep = write(TINY.format(seeds="1"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "runs").write_text("in the way")
    done = cxlab("sweep", sweep, "--out", "out", folder=tmp_path)
    assert done.returncode == 2
    assert "SWP001: out/runs: File exists; valid: a folder that can be written" in done.stderr


def test_a_folder_without_a_sweep_has_nothing_to_ask(tmp_path: Path) -> None:
    done = cxlab("query", "SELECT 1", tmp_path, folder=tmp_path)
    assert done.returncode == 2 and "has no finished run of a sweep" in done.stderr
