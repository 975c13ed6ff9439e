"""A program that is not there is refused before the boot, as execvp(3) would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cxlab.run import program_file
from cxlab.run.errors import ProgramNotExecutable, ProgramNotFound


def executable(path: Path) -> None:
    path.write_text("")
    path.chmod(0o755)


def test_a_name_is_looked_up_in_path_of_the_program(tmp_path: Path) -> None:
    executable(tmp_path / "tool")
    program_file.check("tool", "/", {"PATH": f"/nowhere:{tmp_path}"})
    with pytest.raises(ProgramNotFound, match="tool: not found in /nowhere"):
        program_file.check("tool", "/", {"PATH": "/nowhere"})


def test_a_path_is_of_the_working_folder(tmp_path: Path) -> None:
    executable(tmp_path / "tool")
    program_file.check("./tool", str(tmp_path), {})
    with pytest.raises(ProgramNotFound):
        program_file.check("./tool", "/", {"PATH": str(tmp_path)})
    with pytest.raises(ProgramNotFound):
        program_file.check("tool/inner", str(tmp_path), {})


def test_links_are_followed(tmp_path: Path) -> None:
    os.symlink("missing", tmp_path / "dangling")
    os.symlink("/bin/sh", tmp_path / "shell")
    program_file.check("./shell", str(tmp_path), {})
    with pytest.raises(ProgramNotFound):
        program_file.check("./dangling", str(tmp_path), {})


def test_what_nobody_may_execute_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    for name in ("./data", str(tmp_path)):
        with pytest.raises(ProgramNotExecutable, match=r"chmod \+x"):
            program_file.check(name, str(tmp_path), {})
    with pytest.raises(ProgramNotExecutable):
        program_file.check("data", "/", {"PATH": str(tmp_path)})
    # As execvp(3) goes on to the next folder.
    (tmp_path / "more").mkdir()
    executable(tmp_path / "more" / "data")
    program_file.check("data", "/", {"PATH": f"{tmp_path}:{tmp_path / 'more'}"})


def test_trees_of_the_guest_are_left_to_the_guest() -> None:
    program_file.check("/proc/no-such-file", "/", {})
    program_file.check("no-such-file", "/", {"PATH": "/run/guests-own"})


@pytest.mark.parametrize("command", ["run", "compare"])
@pytest.mark.parametrize(
    ("program", "status", "said"),
    [
        ("no-such-program", 127, "cxlab: MCH022: no-such-program: not found in "),
        ("/etc/passwd", 126, "cxlab: MCH028: /etc/passwd: not a program: "),
    ],
)
def test_the_command_ends_as_a_shell_would_and_leaves_no_folder(
    tmp_path: Path, command: str, program: str, status: int, said: str
) -> None:
    asked = [sys.executable, "-m", "cxlab", command, "--out", "out", "--", program]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert said in done.stderr
    assert not (tmp_path / "out").exists()
