"""Several processors: one time, the same in every run; what they do together is right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from guests import Cxlab, Ran

#: Handed over between two processors, each time with a clock read.
ROUNDS = 2000
SIMULATED = ("machine", "simulated_seconds", "instructions", "ipc", "time", "nodes", "core")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("processors")


def relay(programs: Path, folder: Path, name: str) -> Ran:
    (folder / name).mkdir()
    options = ["--cpus", "2", "--record", str(folder / name / "trace")]
    ran = Cxlab(folder / name, "marker").run(str(programs / "relay"), str(ROUNDS), options=options)
    assert ran.status == 0, ran.stderr
    return ran


@pytest.fixture(scope="module")
def relayed(programs: Path, folder: Path) -> Ran:
    return relay(programs, folder, "first")


def test_a_clock_that_is_passed_on_is_nobodys_future(relayed: Ran) -> None:
    rounds, behind, _ = relayed.stdout.split()
    assert (int(rounds), int(behind)) == (ROUNDS, 0)


def test_both_cores_work(relayed: Ran) -> None:
    assert sum(relayed.summary["time"].values()) == pytest.approx(2 * relayed.summary["simulated_seconds"])
    assert relayed.summary["cpus"] == 2


def test_the_line_that_is_handed_over_comes_from_the_other_core(relayed: Ran) -> None:
    assert relayed.summary["core"]["snoops"] >= ROUNDS


def test_a_recorded_run_replays_exactly(relayed: Ran, folder: Path) -> None:
    command = [sys.executable, "-m", "cxlab", "replay", str(folder / "first" / "trace")]
    document = folder / "replayed.json"
    subprocess.run([*command, "--json", str(document)], check=True, capture_output=True)
    replayed = json.loads(document.read_bytes())
    assert replayed["answers_compared"] >= 2 * ROUNDS
    assert {key: replayed[key] for key in SIMULATED} == {key: relayed.summary[key] for key in SIMULATED}


def test_the_same_run_again_takes_the_same_time(programs: Path, folder: Path, relayed: Ran) -> None:
    again = relay(programs, folder, "again")
    seconds = relayed.summary["simulated_seconds"]
    assert again.summary["simulated_seconds"] == pytest.approx(seconds, rel=5e-3)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [(("--cpus", "9"), "1 to 8 processors"), (("--skew", "2"), "a time from 100ns to 1ms")],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: tuple[str, ...], wanted: str) -> None:
    ran = Cxlab(tmp_path).run("true", options=options)
    assert ran.status == 125
    assert wanted in ran.stderr
