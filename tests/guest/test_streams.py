"""The program's standard streams are the command's, byte for byte."""

from __future__ import annotations

import hashlib
import os
import random
import re
import shlex
import subprocess
from pathlib import Path

from guests import Cxlab

MIB = 1 << 20


def noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)


def test_a_mebibyte_passes_both_ways_through_pipes(cxlab: Cxlab) -> None:
    data = noise(MIB)
    ran = cxlab.run("cat", stdin=data)
    assert (ran.status, ran.stdout == data) == (0, True)


def test_a_regular_file_is_read_by_the_guest_itself_from_its_offset(cxlab: Cxlab, tmp_path: Path) -> None:
    source = tmp_path / "in, put"
    source.write_bytes(noise(MIB))
    with source.open("rb") as file:
        os.lseek(file.fileno(), 1000, os.SEEK_SET)
        ran = cxlab.sh("readlink /proc/self/fd/0; sha256sum", stdin=file)
    digest = hashlib.sha256(noise(MIB)[1000:]).hexdigest()
    assert ran.stdout.decode() == f"{source}\n{digest}  -\n"


def test_no_input_and_standard_error_and_reopened_streams(cxlab: Cxlab) -> None:
    ran = cxlab.sh("readlink /proc/self/fd/0; wc -c; echo out > /dev/stdout; echo err > /dev/stderr")
    assert ran.stdout == b"/dev/null\n0\nout\n"
    # All else is the simulator's words (root is warned), and no progress line.
    assert [line for line in ran.stderr.splitlines() if not line.startswith("cxlab: ")] == ["err"]


def test_a_reader_that_goes_away_ends_the_program_by_sigpipe(cxlab: Cxlab) -> None:
    run = cxlab.start("sh", "-c", "yes; echo $? >&2")
    assert run.stdout is not None and run.stderr is not None
    assert run.stdout.read(2000) == b"y\n" * 1000
    run.stdout.close()
    # 141 = 128 + SIGPIPE, by the guest's own shell.
    said = run.stderr.read().decode().splitlines()
    assert [line for line in said if not line.startswith("cxlab: ")] == ["141"]
    assert run.wait() == 0


def test_input_that_nobody_reads_holds_nothing_up(cxlab: Cxlab) -> None:
    assert cxlab.run("true", stdin=noise(4 * MIB)).status == 0


def test_input_that_comes_later_arrives(cxlab: Cxlab) -> None:
    run = cxlab.start("sh", "-c", "echo asking; read answer; echo got $answer", stdin=subprocess.PIPE)
    assert run.stdin is not None and run.stdout is not None
    assert run.stdout.readline() == b"asking\n"
    run.stdin.write(b"it\n")
    run.stdin.flush()
    assert run.stdout.readline() == b"got it\n"
    assert run.wait() == 0


def test_closed_streams_are_nobodys(cxlab: Cxlab) -> None:
    command = ["sh", "-c", '"$@" <&- >&-', "sh", *cxlab.command([], ["sh", "-c", "cat; echo out; exit 3"])]
    done = subprocess.run(command, cwd=cxlab.folder, capture_output=True, check=False)
    assert (done.returncode, cxlab.summary()["exit_status"]) == (3, 3)


def test_a_terminal_sees_progress_and_whole_lines(cxlab: Cxlab) -> None:
    command = shlex.join(cxlab.command([], ["sh", "-c", "printf 'name? '; sleep 1; echo; echo done"]))
    script = ["script", "--quiet", "--return", "--command", command, "/dev/null"]
    shown = subprocess.run(script, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
    assert re.search(rb"cxlab: running, [12] s", shown), shown
    # A prompt is not painted over.
    assert b"name? \r\n" in shown
    assert b"done\r\n" in shown
