"""The program runs as the caller would have run it, and its end is the command's."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

import pytest
from guests import Cxlab


def test_folder_user_environment_and_libraries_are_the_callers(
    cxlab: Cxlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not this host's whole PATH: a shim of pyenv would put its own folders in front.
    path = f"/usr/local/bin:/usr/bin:/bin:{tmp_path}"
    (tmp_path / "mine").write_text('#!/bin/sh\nexec python3 "$@"\n')
    (tmp_path / "mine").chmod(0o755)
    mine = {"PATH": path, "VIRTUAL_ENV": str(tmp_path), "TUNING": "x=1", "SECRET": "not for the guest"}
    for name, value in mine.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    script = """import os, sys, json
print(json.dumps({"cwd": os.getcwd(), "ids": [os.getuid(), os.getgid(), sorted(os.getgroups())],
    "argv": [os.fsencode(a).hex() for a in sys.argv[1:]], "environ": dict(os.environ)}))"""
    odd = os.fsdecode(b"\xff\xfe odd")
    options = ["--env", "A=b=c", "--env", "EMPTY=", "--env-pass", "TUNING"]
    # The program is found by the caller's PATH.
    ran = cxlab.run("mine", "-c", script, odd, "", options=options)
    said = json.loads(ran.stdout)
    user = pwd.getpwuid(os.getuid())
    assert said["cwd"] == str(tmp_path)
    assert said["ids"] == [os.getuid(), os.getgid(), sorted(os.getgroups())]
    assert said["argv"] == [os.fsencode(odd).hex(), ""]
    environment = said["environ"]
    assert (environment["A"], environment["EMPTY"], environment["HOME"]) == ("b=c", "", user.pw_dir)
    assert {name: environment.get(name) for name in mine} == mine | {"SECRET": None}
    # Nothing else of the host's.
    assert set(environment) - {"LC_CTYPE", "PWD"} == {
        *("A", "EMPTY", "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TUNING", "USER", "VIRTUAL_ENV")
    }


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 128 + 9), ("kill -SEGV $$", 128 + 11)],
)
def test_the_end_of_the_program_is_the_commands(cxlab: Cxlab, script: str, status: int) -> None:
    ran = cxlab.sh(script)
    assert (ran.status, ran.summary["exit_status"], ran.summary["complete"]) == (status, status, True)


def test_a_file_that_cannot_be_executed_is_126(cxlab: Cxlab, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no program")
    ran = cxlab.run("./data")
    assert ran.status == 126
    assert "data: not a program: nobody may execute it" in ran.stderr


def test_a_script_without_interpreter_line_runs_in_sh(cxlab: Cxlab, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("echo $0 $1\n")
    (tmp_path / "script").chmod(0o755)
    assert cxlab.run("./script", "x").stdout == b"./script x\n"


def test_children_that_outlive_the_program_hold_nothing_up(cxlab: Cxlab) -> None:
    ran = cxlab.sh("sleep 1000 & (sleep 2000 &) ; echo started")
    assert (ran.status, ran.stdout) == (0, b"started\n")


def test_written_files_are_named_and_dropped(cxlab: Cxlab, tmp_path: Path) -> None:
    (tmp_path / "gone").write_text("here")
    (tmp_path / "changed").write_text("before")
    ran = cxlab.sh("rm gone; echo after > changed; mkdir new; echo 12345 > new/file")
    assert ran.status == 0
    files = {f["path"]: (f["kind"], f["bytes"]) for f in ran.summary["files"]}
    assert files == {
        f"{tmp_path}/gone": ("deleted", 0),
        f"{tmp_path}/changed": ("file", 6),
        f"{tmp_path}/new": ("folder", 0),
        f"{tmp_path}/new/file": ("file", 6),
    }
    assert f"dropped, --keep DIR copies them out: {tmp_path}/changed" in ran.stderr
    assert (tmp_path / "gone").read_text() == "here"
    assert (tmp_path / "changed").read_text() == "before"
    assert not (tmp_path / "new").exists()


def test_written_files_are_kept_with_their_paths(cxlab: Cxlab, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    script = "head -c 3000000 /dev/zero > big; mkdir -p a/b; echo x > a/b/c; chmod 750 a/b/c; ln -s c a/b/l"
    ran = cxlab.sh(script, options=["--keep", str(keep)])
    assert ran.status == 0
    here = keep / str(tmp_path).lstrip("/")
    assert (here / "big").stat().st_size == 3_000_000
    assert (here / "a/b/c").stat().st_mode & 0o777 == 0o750
    assert os.readlink(here / "a/b/l") == "c"
    # Nothing half-written is left beside them.
    assert sorted(p.name for p in keep.iterdir()) == [str(tmp_path).split("/")[1]]
    assert not (tmp_path / "big").exists()
