"""Files of the host: their requests take simulated time, in which the guest goes on."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from guests import Cxlab, Ran

#: docs/decisions/device-time.md [ns]
SERVICE_NS = 80_000
#: Linux's own part of a request [ns]
OF_LINUX = 10_000
PAGES, PAGE = 50, 4096
#: Of the link, each way [B/ns]; Linux asks for this much at once.
BANDWIDTH, LARGE = 3.2, 480 << 10
OPTIONS = ["--memory", "dram=512M,cxl=256M"]
SIMULATED = ("simulated_seconds", "instructions", "ipc", "time", "nodes", "core")
#: As the disk is sampled (test_disk.py): most of the run lies between windows.
SAMPLED = ["--sample", "detail=10k,warm=10k,every=60k"]


@dataclass(frozen=True)
class Rounds:
    """The rounds that `file_in` prints [ns]."""

    alone: float
    together: float
    computed: float
    both: float
    ran: Ran


def read(programs: Path, folder: Path, *options: str) -> Rounds:
    """Read pages alone, with four threads, and beside a computation."""
    folder.mkdir(exist_ok=True)
    pages = folder / "pages"
    if not pages.exists():
        pages.write_bytes(b"".join(struct.pack("<I", number).ljust(PAGE, b"\0") for number in range(PAGES)))
    program = [str(programs / "file_in"), str(pages), str(PAGES), "read"]
    ran = Cxlab(folder, "marker").run(*program, options=[*OPTIONS, *options])
    assert ran.status == 0, ran.stderr
    *took, _, wrong = map(float, ran.stdout.split())
    assert wrong == 0
    return Rounds(*took, ran)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def one(programs: Path, folder: Path) -> Rounds:
    return read(programs, folder / "one", "--record", str(folder / "trace"))


@pytest.fixture(scope="module")
def four(programs: Path, folder: Path) -> Rounds:
    return read(programs, folder / "four", "--cpus", "4")


def test_a_request_takes_the_declared_time(one: Rounds) -> None:
    assert SERVICE_NS < one.alone / PAGES < SERVICE_NS + OF_LINUX


@pytest.mark.parametrize("processors", ["one", "four"])
def test_requests_of_several_threads_are_under_way_together(
    processors: str, request: pytest.FixtureRequest
) -> None:
    rounds = request.getfixturevalue(processors)
    # A quarter of them each, of 50 up to 13, and what threads on one processor wait for each other.
    assert 12 * SERVICE_NS < rounds.together < 0.4 * rounds.alone


@pytest.mark.parametrize("processors", ["one", "four"])
def test_a_program_computes_while_its_files_come(processors: str, request: pytest.FixtureRequest) -> None:
    rounds = request.getfixturevalue(processors)
    # On several processors the reader may be where its interrupts come in one round, and not in the other.
    # But no round is shorter than the declared time of its requests.
    reads = rounds.alone if processors == "one" else PAGES * SERVICE_NS
    assert rounds.both >= max(reads, rounds.computed)
    assert rounds.both < max(rounds.alone, rounds.computed) + 0.2 * min(rounds.alone, rounds.computed)


@pytest.mark.parametrize("processors", ["one", "four"])
def test_a_wait_for_files_is_io_while_nothing_is_computed(
    processors: str, request: pytest.FixtureRequest
) -> None:
    """In two of the four rounds; on several processors it is counted once, the others are idle."""
    ran = request.getfixturevalue(processors).ran
    cpus, time = {"one": 1, "four": 4}[processors], ran.summary["time"]
    waits = (PAGES + 12) * SERVICE_NS * 1e-9
    assert 0.9 * waits < time["io_s"] < 1.1 * waits
    assert sum(time.values()) == pytest.approx(cpus * ran.summary["simulated_seconds"])
    assert ran.summary["cpi_stack"]["io_s"] == pytest.approx(time["io_s"])


def test_a_recording_answers_as_the_guest_did(one: Rounds, folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "cxlab",
        "replay",
        str(folder / "trace"),
        "--json",
        str(folder / "again"),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "all the same" in done.stdout + done.stderr
    assert json.loads((folder / "again").read_bytes())["time"] == one.ran.summary["time"]


def test_a_recording_waits_as_long_on_another_machine(one: Rounds, folder: Path) -> None:
    """A request takes its time from when it was asked: what takes longer elsewhere is not hidden in waits."""
    command = [sys.executable, "-m", "cxlab", "replay", "--set", "host.core.frequency=1.9 GHz"]
    again = folder / "slow"
    done = subprocess.run(
        [*command, str(folder / "trace"), "--json", str(again)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    slow, time = json.loads(again.read_bytes())["time"], one.ran.summary["time"]
    # Half the 3.8 GHz. Most of the work is the computation; beside the files it takes longer than they do.
    assert slow["busy_s"] == pytest.approx(2 * time["busy_s"], rel=0.1)
    # What Linux does behind a request is a part of its time, and takes longer.
    assert slow["io_s"] == pytest.approx(time["io_s"], rel=0.1)


def test_a_sampled_run_waits_as_long(one: Rounds, programs: Path, folder: Path) -> None:
    sampled = read(programs, folder / "sampled", *SAMPLED)
    assert sampled.ran.summary["time"]["io_s"] == pytest.approx(one.ran.summary["time"]["io_s"], rel=0.05)
    assert sampled.ran.summary["simulated_seconds"] == pytest.approx(
        one.ran.summary["simulated_seconds"], rel=0.03
    )


def test_two_runs_are_the_same_to_the_bit(four: Rounds, programs: Path, folder: Path) -> None:
    # Linux finds a file by its number on the host, so another file takes other lines of its tables.
    again = read(programs, folder / "four", "--cpus", "4").ran.summary
    assert [again[key] for key in SIMULATED] == [four.ran.summary[key] for key in SIMULATED]


def test_a_large_request_takes_its_bytes_over_the_bandwidth_longer(tmp_path: Path) -> None:
    waited = {}
    for size in (PAGE, LARGE):
        (tmp_path / "file").write_bytes(bytes(size))
        ran = Cxlab(tmp_path, "all").sh("cat file > /dev/null", options=OPTIONS)
        assert ran.status == 0, ran.stderr
        waited[size] = ran.summary["time"]["io_s"]
    longer_ns = (waited[LARGE] - waited[PAGE]) * 1e9
    assert longer_ns == pytest.approx((LARGE - PAGE) / BANDWIDTH, abs=10_000)
