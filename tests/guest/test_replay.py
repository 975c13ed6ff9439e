"""A recorded run replays bit for bit without QEMU; the same run once more takes the same simulated time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from guests import Cxlab, Ran

#: What the program reads, and so what must agree.
READS = 100_000
SIMULATED = ("machine", "simulated_seconds", "instructions", "ipc", "time", "nodes", "core")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replay")


@pytest.fixture(scope="module")
def recorded(programs: Path, folder: Path) -> Ran:
    ran = Cxlab(folder, "all").run(str(programs / "stamps"), options=["--record", str(folder / "trace")])
    assert ran.status == 0, ran.stderr
    return ran


def replay(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cxlab", "replay", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_answer_and_every_figure_is_the_same(recorded: Ran, folder: Path) -> None:
    done = replay(str(folder / "trace"), "--json", str(folder / "replay.json"))
    assert done.returncode == 0, done.stderr
    replayed: dict[str, Any] = json.loads((folder / "replay.json").read_bytes())
    assert replayed["answers_compared"] >= READS
    assert {key: replayed[key] for key in SIMULATED} == {key: recorded.summary[key] for key in SIMULATED}
    assert recorded.stdout.split()[1] == b"0"


def test_another_machine_may_answer_differently(recorded: Ran, folder: Path) -> None:
    done = replay(str(folder / "trace"), "--machine", "8468v-fpga", "--json", str(folder / "other.json"))
    assert done.returncode == 0, done.stderr
    other = json.loads((folder / "other.json").read_bytes())
    assert other["machine"] == "8468v-fpga"
    assert other["instructions"] == recorded.summary["instructions"]


def test_the_same_run_again_takes_the_same_time(programs: Path, tmp_path: Path) -> None:
    def simulated_seconds(folder: str) -> float:
        (tmp_path / folder).mkdir()
        chase = (str(programs / "chase"), "200000", str(256 << 20))
        return float(Cxlab(tmp_path / folder, "marker").run(*chase).summary["simulated_seconds"])

    assert simulated_seconds("again") == pytest.approx(simulated_seconds("first"), rel=1e-3)


def test_a_trace_that_is_cut_short_or_foreign_is_refused_by_name(recorded: Ran, folder: Path) -> None:
    whole = (folder / "trace").read_bytes()
    (folder / "cut").write_bytes(whole[: len(whole) // 2])
    (folder / "foreign").write_text("#!/bin/sh\n")
    for name, code in (("cut", "TRC004"), ("foreign", "TRC002"), ("none", "TRC001")):
        done = replay(str(folder / name))
        assert done.returncode == 125
        assert done.stderr.startswith(f"cxlab: {code}: ")
        assert str(folder / name) in done.stderr
