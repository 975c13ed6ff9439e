"""A program that is not there is refused before the boot, as execvp(3) would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cxlab.run import program_file
from cxlab.run.errors import ProgramNotFound


def test_a_name_is_looked_up_in_path_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("")
    program_file.check("tool", "/", {"PATH": f"/nowhere:{tmp_path}"})
    with pytest.raises(ProgramNotFound, match="tool: not found in /nowhere"):
        program_file.check("tool", "/", {"PATH": "/nowhere"})


def test_a_path_is_of_the_working_folder(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("")
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


def test_trees_of_the_guest_are_left_to_the_guest() -> None:
    program_file.check("/proc/no-such-file", "/", {})
    program_file.check("no-such-file", "/", {"PATH": "/run/guests-own"})


@pytest.mark.parametrize("command", ["run", "compare"])
def test_the_command_ends_with_127_and_leaves_no_folder(tmp_path: Path, command: str) -> None:
    asked = [sys.executable, "-m", "cxlab", command, "--out", "out", "--", "no-such-program"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 127
    assert "cxlab: MCH022: no-such-program: not found in " in done.stderr
    assert not (tmp_path / "out").exists()
