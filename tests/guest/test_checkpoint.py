"""A program is kept where it has set itself up, and goes on from there: alike each time, or elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cxlab.run.guest import checkpoint
from guests import COMMAND, Cxlab, Ran

SIMULATED = ("simulated_seconds", "instructions", "ipc", "time", "nodes", "core")
#: walk_later.c: in each of four rounds it reads a byte of each of 4,096 pages, which is the page's number.
WALKED = f"sum {4 * sum(page % 251 for page in range(4096))}\n"
MAKE = [sys.executable, "-m", "cxlab", "checkpoint"]


@dataclass(frozen=True)
class Made:
    """A checkpoint, and what making it said."""

    name: str
    folder: Path
    said: subprocess.CompletedProcess[bytes]

    def start(self, *options: str) -> Ran:
        cxlab = Cxlab(self.folder)
        command = [*COMMAND, "--from", self.name, "--out", str(cxlab.out), "--overwrite", *options]
        done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
        return Ran(done.returncode, done.stdout, done.stderr.decode(), cxlab.summary(), cxlab.out)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, programs: Path) -> Iterator[Made]:
    folder, name = tmp_path_factory.mktemp("checkpoint"), f"test-{os.getpid()}"
    (folder / "new").write_text("new\n")
    (folder / "known").write_text("known\n")
    walk = [str(programs / "walk_later"), str(folder / "new"), str(folder / "known")]
    options = ["--memory", "dram=1G,cxl=512M", "--from-output", "ready"]
    said = subprocess.run([*MAKE, name, *options, "--", *walk], cwd=folder, capture_output=True, check=False)
    yield Made(name, folder, said)
    if name in checkpoint.names():
        checkpoint.remove(name)


@pytest.fixture(scope="module")
def first(made: Made) -> Ran:
    return made.start()


def test_the_program_runs_to_its_text(made: Made) -> None:
    assert made.said.returncode == 0, made.said.stderr
    assert made.said.stdout == b"ready\n"


def test_it_goes_on_behind_the_text_and_reads_files_that_it_had_not_opened(first: Ran) -> None:
    assert (first.status, first.stdout.decode()) == (0, f"{WALKED}new\nknown\n"), first.stderr
    assert first.summary["complete"] and first.summary["checkpoint"].startswith("test-")


def test_two_starts_are_the_same_to_the_picosecond(made: Made, first: Ran) -> None:
    again = made.start()
    assert {key: again.summary[key] for key in SIMULATED} == {key: first.summary[key] for key in SIMULATED}


def test_pages_can_be_moved_and_the_timing_changed(made: Made, first: Ran) -> None:
    slow = made.start("--membind", "cxl", "--machine", "8468v-fpga")
    assert slow.stdout == first.stdout
    # Lines of loads and of prefetches: CXL memory has what DRAM had, and the kernel's own lines stay.
    read, before = (
        {name: node["read_bytes"] for name, node in ran.summary["nodes"].items()} for ran in (slow, first)
    )
    assert before["dram"] - read["dram"] == pytest.approx(read["cxl"], rel=0.1)
    assert read["cxl"] > before["dram"] / 2 and before["dram"] > 4 * before["cxl"]
    assert slow.summary["simulated_seconds"] > first.summary["simulated_seconds"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--cpus", "2"], "--cpus 2"),
        (["--memory", "dram=1G,cxl=1G"], "--memory dram=1G,cxl=1G"),
        (["--interleave", "dram,cxl"], "--membind NODES"),
        (["--from-output", "sum"], "--from-output"),
        (["--keep", "kept"], "--keep"),
    ],
)
def test_what_linux_or_the_program_has_decided_is_refused(made: Made, options: list[str], named: str) -> None:
    refused = made.start(*options)
    assert refused.status == 125 and named in refused.stderr


def test_a_name_that_is_there_is_refused(made: Made) -> None:
    command = [*MAKE, made.name, "--from-output", "ready", "--", "true"]
    refused = subprocess.run(command, capture_output=True, check=False)
    assert refused.returncode == 125 and b"--remove" in refused.stderr


def test_a_file_that_has_changed_since_is_not_read(made: Made, first: Ran) -> None:
    assert first.status == 0
    (made.folder / "known").write_text("another one\n")
    started = made.start("--detail", "off")
    assert started.status == 4
    assert "known has changed on the host since the checkpoint" in (started.out / "console.log").read_text()


def test_a_program_that_never_prints_the_text_makes_no_checkpoint() -> None:
    name = f"never-{os.getpid()}"
    command = [*MAKE, name, "--from-output", "ready", "--memory", "dram=1G,cxl=512M", "--", "echo", "no"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (125, b"no\n")
    assert b"The program printed last: stdout 'no'" in done.stderr
    assert name not in checkpoint.names()
