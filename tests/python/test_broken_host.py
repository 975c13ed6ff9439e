"""Full disks, limits, streams that nobody reads, folders that have gone: a message and the right status."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CXLAB = [sys.executable, "-m", "cxlab"]
COST = ["plan", "cost", "--r-d", "10", "--r-c", "8", "--c", "2", "--r-t", "1.1", "--draws", "3"]
#: Wrong input, by the command that statuses below 125 do not belong to, and by the one they do.
REFUSED = ((["plan", "cost", "--r-d", "1"], 2), (["run", "--machine", "none", "--", "true"], 125))


def shell(script: str, *arguments: str, limit: Callable[[], None] | None = None) -> tuple[int, str]:
    """Run ``script``, in which "$@" is the command; its status, and what was said."""
    command = ["bash", "-c", script, "bash", *CXLAB, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-", "2> >(true)"])
def test_a_broken_standard_error_changes_no_status(redirection: str) -> None:
    for arguments, status in REFUSED:
        assert shell(f'"$@" {redirection}', *arguments)[0] == status


def test_a_full_standard_output_is_said() -> None:
    status, said = shell('"$@" > /dev/full', "machines", "show", "spr-a1000")
    assert (status, "MCH021" in said, "No space left" in said) == (1, True, True)


def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    out = tmp_path / "out.json"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    status, said = shell('"$@" > /dev/null', *COST, "--json", str(out), limit=limit)
    assert status == 1, said
    assert "MCH021" in said and str(out) in said and "File too large" in said
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_deleted_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    status, said = shell(f'mkdir {gone}; cd {gone}; rmdir {gone}; "$@"', "run", "--out", "x", "--", "true")
    assert status == 125
    assert "MCH" in said


def test_a_home_that_cannot_be_written_is_said() -> None:
    status, said = shell('HOME=/proc/none XDG_CACHE_HOME= "$@"', "run", "--out", "/proc/x", "--", "true")
    assert status == 125
    assert "MCH" in said
