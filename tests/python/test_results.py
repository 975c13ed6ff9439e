"""Exit statuses, the wire's bytes, and files that are whole or not there."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from cxlab.output import write_json
from cxlab.run.errors import FolderInUse, QemuDied, UnusableFolder
from cxlab.run.guest import protocol as guest
from cxlab.run.guest.protocol import Exit, ExitCode, NotStarted, Signalled, Status
from cxlab.run.host import standard_input
from cxlab.run.interruption import Interrupted
from cxlab.run.request import Outcome
from cxlab.run.results.run_directory import RunDirectory
from cxlab.run.results.summary import exit_status
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (ExitCode(0), 0),
        (ExitCode(255), 255),
        (Signalled(9), 137),
        (NotStarted("execute", errno.ENOENT, ""), 127),
        (NotStarted("execute", errno.ENOTDIR, ""), 127),
        (NotStarted("execute", errno.EACCES, ""), 126),
        (NotStarted("execute", errno.ENOEXEC, ""), 126),
        (NotStarted("working_folder", errno.ENOENT, ""), 125),
    ],
)
def test_exit_statuses_are_those_of_env(status: Status, expected: int) -> None:
    assert exit_status(Outcome(exit=Exit(status, 0, 0, (), (), {}, {}, {}))) == expected


def test_a_run_that_did_not_get_there_is_125_or_the_signals() -> None:
    assert exit_status(Outcome(failure=QemuDied("x"))) == 125
    assert exit_status(Outcome(failure=Interrupted(15))) == 143
    # Also when the program had ended already.
    ended = Exit(ExitCode(0), 0, 0, (), (), {}, {}, {})
    assert exit_status(Outcome(exit=ended, failure=Interrupted(2))) == 130


def test_a_program_that_a_bound_ended_is_no_failure() -> None:
    killed = Exit(Signalled(9), 0, 0, (), (), {}, {}, {}, stopped=True)
    assert exit_status(Outcome(exit=killed, bound="--until")) == 0
    assert exit_status(Outcome(exit=killed)) == 137


@given(st.binary())
def test_bytes_survive_the_wire(raw: bytes) -> None:
    wire = json.loads(json.dumps(guest.encode_bytes(os.fsdecode(raw))))
    assert os.fsencode(guest.decode_bytes(wire)) == raw


@given(st.binary(min_size=1))
def test_a_frame_is_its_length_and_its_data(data: bytes) -> None:
    framed = guest.frame(data)
    assert int.from_bytes(framed[:4], "little") == len(data) == len(framed) - 4
    assert framed[4:] == data


def test_a_write_that_fails_leaves_the_earlier_file(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_json(path, {"a": 1}, None)
    with pytest.raises(TypeError):
        write_json(path, {"a": object()}, None)
    assert json.loads(path.read_text()) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["summary.json"]


def test_two_runs_of_one_second_have_two_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = {RunDirectory.create(None, "/bin/true").path for _ in range(5)}
    assert len(paths) == 5
    assert all("-true" in path.name for path in paths)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnusableFolder, match="choose another with --out"):
        RunDirectory.create(tmp_path / "file/below", "true")


def test_standard_input_is_classified_by_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"12345")
    with path.open("rb", buffering=0) as file:
        file.read(2)
        assert standard_input.classify(file.fileno()) == guest.FileInput(str(path), 2)
        path.unlink()
        # The guest could not open it any more.
        assert standard_input.classify(file.fileno()) == guest.StreamInput()
        descriptor = file.fileno()
    assert standard_input.classify(descriptor) == guest.NullInput()
    with open(os.devnull, "rb") as null:
        assert standard_input.classify(null.fileno()) == guest.NullInput()


def test_an_earlier_run_is_not_lost_without_a_word(tmp_path: Path) -> None:
    first = RunDirectory.create(tmp_path / "out", "true")
    with pytest.raises(FolderInUse, match="another run writes to"):
        RunDirectory.create(tmp_path / "out", "true", overwrite=True)
    write_json(first.summary, {"a": 1}, None)
    os.close(first.lock)
    with pytest.raises(FolderInUse, match=r"holds an earlier run \(summary.json.*--overwrite"):
        RunDirectory.create(tmp_path / "out", "true")
    assert json.loads(first.summary.read_bytes()) == {"a": 1}
    RunDirectory.create(tmp_path / "out", "true", overwrite=True)
    assert not first.summary.exists()
