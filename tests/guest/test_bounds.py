"""Runs that begin or end within their program: by simulated time, by idleness, by what the program prints."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from guests import ENDLESS, Cxlab, Ran, replay_whole

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "time-a-part.md"
SIMULATED = ("simulated_seconds", "instructions", "ipc", "time", "nodes", "core")
#: A bound is met at a sync point, 2 us apart, where the model is.
LATE = 0.2e-3


def ended(ran: Ran, bound: str) -> None:
    assert ran.status == 0, ran.stderr
    assert ran.summary["complete"] and ran.summary["bound"] == bound
    assert f"was ended by {bound}, as asked" in ran.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bounds")


@pytest.fixture(scope="module")
def until(folder: Path) -> Ran:
    """20 ms of a shell that counts without end, recorded."""
    options = ["--until", "20ms", "--record", str(folder / "trace"), "--keep", str(folder / "kept")]
    return Cxlab(folder, "all").sh(f"echo x > written; {ENDLESS}", options=options)


def test_a_run_ends_after_the_simulated_time_that_was_asked_for(until: Ran) -> None:
    ended(until, "--until")
    assert 20e-3 <= until.summary["simulated_seconds"] <= 20e-3 + LATE


def test_what_was_written_before_a_bound_is_kept(until: Ran, folder: Path) -> None:
    assert until.status == 0
    assert next((folder / "kept").rglob("written")).read_text() == "x\n"


def test_a_recording_of_it_is_whole_and_replays_exactly(until: Ran, folder: Path) -> None:
    replayed = replay_whole(folder / "trace")
    assert replayed["complete"] and replayed["answers_compared"] > 0
    assert {key: replayed[key] for key in SIMULATED} == {key: until.summary[key] for key in SIMULATED}


def test_a_bound_within_a_sleep_is_met_to_the_picosecond(tmp_path: Path) -> None:
    """The clock of timers counts whole nanoseconds, and what is computed does not end on one."""
    ran = Cxlab(tmp_path, "all").run("sleep", "1", options=["--until", "20ms"])
    ended(ran, "--until")
    assert ran.summary["simulated_seconds"] == pytest.approx(20e-3, abs=1e-12)


@pytest.mark.parametrize("cpus", ["1", "2"])
def test_the_same_bound_is_met_at_the_same_place(tmp_path: Path, programs: Path, cpus: str) -> None:
    runs = []
    for name in ("first", "again"):
        (tmp_path / name).mkdir()
        options = ["--until", "2ms", "--cpus", cpus]
        runs.append(Cxlab(tmp_path / name, "all").run(str(programs / "phases"), "1", options=options))
        ended(runs[-1], "--until")
    first, again = ({key: ran.summary[key] for key in SIMULATED} for ran in runs)
    assert first == again


@pytest.mark.parametrize("skew", ["0ns", "2us"])
def test_a_bound_is_met_where_vcpus_are_asked_at_each_turn(tmp_path: Path, programs: Path, skew: str) -> None:
    """Threads that meet at a barrier: so many questions come that no sync point between them is ever due."""
    options = ["--until", "1ms", "--cpus", "2", "--skew", skew]
    ran = Cxlab(tmp_path, "marker").run(str(programs / "crew"), "2", "200", options=options)
    ended(ran, "--until")
    assert 1e-3 <= ran.summary["simulated_seconds"] <= 1e-3 + LATE


def test_an_idle_machine_ends_the_run_and_time_stops_there(tmp_path: Path) -> None:
    """The sleep of 30 ms goes on; the one of 100 s is cut after 50 ms."""
    ran = Cxlab(tmp_path, "all").sh("sleep 0.03; echo woke; sleep 100", options=["--until-idle", "50ms"])
    ended(ran, "--until-idle")
    assert ran.stdout == b"woke\n"
    assert 0.08 <= ran.summary["time"]["idle_s"] <= 0.081


def test_time_counts_while_all_are_idle(tmp_path: Path) -> None:
    ran = Cxlab(tmp_path, "all").run("sleep", "100", options=["--until", "40ms"])
    ended(ran, "--until")
    assert 40e-3 <= ran.summary["simulated_seconds"] <= 40e-3 + LATE


@pytest.mark.parametrize("options", [[], ["--cpus", "2"]], ids=["one", "two"])
def test_what_is_timed_between_two_texts_is_what_the_program_measures(
    tmp_path: Path, programs: Path, options: list[str]
) -> None:
    """The program's own clock, read behind one text and ahead of the other."""
    texts = ["--from-output", "begin", "--to-output", "end"]
    ran = Cxlab(tmp_path, "all").run(str(programs / "phases"), "3", options=[*texts, *options])
    ended(ran, "--to-output")
    measured = float(ran.stdout.split()[-1]) / 1e9
    # Around the two clock reads: a write to a pipe, and a thread of init that wakes. On two processors the
    # program reads its clock while that thread wakes, so the region may begin behind the first read.
    late = 0.1e-3 if options else 0.0
    assert measured - late <= ran.summary["simulated_seconds"] <= measured + 0.1e-3


def test_a_text_on_standard_error_counts_as_well(tmp_path: Path) -> None:
    script = "echo ready >&2; true; echo ready; " + ENDLESS
    ran = Cxlab(tmp_path, "all").sh(script, options=["--from-output", "ready", "--until", "1ms"])
    ended(ran, "--until")
    assert 1e-3 <= ran.summary["simulated_seconds"] <= 1e-3 + LATE


@pytest.mark.parametrize(
    ("option", "message"),
    [("--from-output", "so it was not timed"), ("--to-output", "and ran to its end")],
)
def test_a_text_that_never_came_is_an_error_with_the_last_words(
    tmp_path: Path, option: str, message: str
) -> None:
    ran = Cxlab(tmp_path, "all").sh("echo starting; echo last words", options=[option, "ready"])
    assert ran.status == 125
    assert f"{option} 'ready': the program did not print this, {message}" in ran.stderr
    assert "printed last: stdout 'last words'" in ran.stderr
    assert not ran.summary["complete"] and ran.summary["bound"] is None


@pytest.mark.parametrize("options", [[], ["--cpus", "2"]], ids=["one", "two"])
def test_what_is_timed_between_two_calls_is_what_the_program_measures(
    tmp_path: Path, programs: Path, options: list[str]
) -> None:
    """By the program's own clock, read behind one call and ahead of the other.

    The end that the program calls ahead of the beginning is none.
    """
    calls = ["--from-symbol", "begins", "--to-symbol", "ends"]
    ran = Cxlab(tmp_path, "all").run(str(programs / "called"), "3", options=[*calls, *options])
    ended(ran, "--to-symbol")
    measured = float(ran.stdout.split()[-1]) / 1e9
    # Around the two clock reads: a thaw, a probe at the end, and a line that the program prints.
    assert measured <= ran.summary["simulated_seconds"] <= measured + 0.15e-3


def test_a_function_of_a_program_that_the_program_starts_is_named_with_its_file(
    tmp_path: Path, programs: Path
) -> None:
    called = programs / "called"
    options = ["--from-symbol", f"{called}:begins", "--to-output", "took"]
    ran = Cxlab(tmp_path, "all").sh(f"true; {called} 1; true", options=options)
    ended(ran, "--to-output")
    assert 1e-3 <= ran.summary["simulated_seconds"] <= 1.2e-3


def test_a_function_that_is_never_called_is_an_error(tmp_path: Path, programs: Path) -> None:
    ran = Cxlab(tmp_path, "all").sh("true", options=["--from-symbol", f"{programs / 'called'}:never"])
    assert ran.status == 125
    assert "never': the program did not call this function, so it was not timed" in ran.stderr


@pytest.mark.parametrize(
    ("symbol", "message"),
    [
        ("begin", "names no function begin; valid names are like begins"),
        ("/nowhere/at/all:begins", "/nowhere/at/all is no ELF program or library that you can read"),
        (f"{__file__}:begins", "For a script, name its interpreter"),
    ],
)
def test_a_function_that_is_not_there_is_refused_before_the_boot(
    tmp_path: Path, programs: Path, symbol: str, message: str
) -> None:
    ran = Cxlab(tmp_path, "all").run(str(programs / "called"), options=["--from-symbol", symbol])
    assert ran.status == 125 and message in ran.stderr
    assert not ran.summary


def test_a_timeout_says_what_had_not_come(tmp_path: Path) -> None:
    # The host's time: a busy host may not have booted the guest by the first one.
    for seconds in ("8s", "30s", "180s"):
        options = ["--to-output", "ready", "--timeout", seconds, "--until-idle", "100s"]
        ran = Cxlab(tmp_path, "all").sh(ENDLESS, options=options)
        assert ran.status == 125
        if ran.stdout:
            break
    assert "--to-output 'ready' had not come. The program printed last: stdout 'running'" in ran.stderr


def test_a_program_that_ends_first_has_its_own_status(tmp_path: Path) -> None:
    ran = Cxlab(tmp_path, "all").sh("exit 7", options=["--until", "10s"])
    assert ran.status == 7 and ran.summary["complete"] and ran.summary["bound"] is None


def commands() -> list[str]:
    """Each command of cxlab, with the commands ahead of it in its block."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [block.strip() for block in blocks]


@pytest.mark.parametrize("block", commands())
def test_every_command_of_the_page_ends_as_the_page_says(tmp_path: Path, block: str) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    *before, line = block.splitlines()
    for command in before:
        subprocess.run(shlex.split(command), cwd=tmp_path, check=True)
    arguments = shlex.split(line)[1:]
    assert arguments[0] == "run"
    command_line = [sys.executable, "-m", "cxlab", "run", "--out", str(tmp_path / "out"), *arguments[1:]]
    done = subprocess.run(command_line, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    # The last bound of the line is the one that ends the run.
    bounds = [word for word in arguments if word in ("--until", "--until-idle", "--to-output", "--to-symbol")]
    assert summary["complete"] and summary["bound"] == bounds[-1]
    assert summary["instructions"]["user"] > 0
