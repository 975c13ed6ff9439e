"""Parallel programs of the host on four and eight processors: their output is the host's own."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from guests import Cxlab

from experiments import machines
from experiments.studies import stream_threads

#: GNU sort starts a thread only for so many lines (coreutils 9.1, sort.c: SUBTHREAD_LINES_HEURISTIC).
LINES_OF_A_THREAD = 128 * 1024
SORT = "LC_ALL=C sort --parallel={cpus} numbers | sha256sum"
#: Each block is a thread's.
PACK = "xz -0 -T{cpus} --block-size=32KiB --stdout text | sha256sum"
#: The first time, the guest waits for the host's files: the program and its text.
XZ = f"{PACK}; echo ready; {PACK}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parallel")
    draw = random.Random(4)
    # Nearly in order: a merge of two halves looks at few of the lines twice.
    lines = [f"{number:06}" for number in range(LINES_OF_A_THREAD + 1000)]
    for _ in range(1000):
        first, second = draw.randrange(len(lines)), draw.randrange(len(lines))
        lines[first], lines[second] = lines[second], lines[first]
    (folder / "numbers").write_text("\n".join(lines) + "\n")
    words = [bytes(draw.choices(b"abcdefghij", k=draw.randrange(2, 9))) for _ in range(500)]
    (folder / "text").write_bytes(b" ".join(draw.choices(words, k=45_000)))
    return folder


#: Some sixty windows.
SAMPLE = ["--sample", "detail=20us,warm=20us,every=400us"]


@pytest.mark.parametrize(
    ("script", "options", "at_once"),
    [
        pytest.param(SORT, SAMPLE, 1.05, id="sort, sampled"),
        pytest.param(XZ, ["--from-output", "ready"], 1.2, id="xz", marks=pytest.mark.once_a_week),
    ],
)
def test_its_output_is_the_hosts(folder: Path, script: str, options: list[str], at_once: float) -> None:
    command = script.format(cpus=4)
    host = subprocess.run(["sh", "-c", command], cwd=folder, check=True, capture_output=True).stdout
    ran = Cxlab(folder, "all").sh(command, options=["--cpus", "4", *options])
    assert (ran.status, ran.stdout) == (0, host)
    assert ran.summary["cpus"] == 4
    # More than one of them worked: what all did fills more than the time that passed. A sampled run
    # estimates both from its windows.
    assert ran.summary["time"]["busy_s"] > at_once * ran.summary["simulated_seconds"], ran.summary["time"]


def test_every_element_of_a_threaded_stream_is_right(programs: Path, tmp_path: Path) -> None:
    cpus = 8
    ran = Cxlab(tmp_path, "marker").run(
        str(programs / "stream_threads"), str(cpus), "10000000", options=["--cpus", str(cpus)]
    )
    assert ran.status == 0, ran.stderr
    assert ran.stdout.split()[1] == b"0"
    assert ran.summary["time"]["busy_s"] > 0.5 * cpus * ran.summary["simulated_seconds"]


@pytest.mark.parametrize(
    "threads",
    [
        pytest.param(min(stream_threads.THREADS), marks=pytest.mark.once_a_week),
        max(stream_threads.THREADS),
    ],
)
def test_threads_of_stream_are_as_fast_as_the_benchs(tmp_path: Path, threads: int) -> None:
    machine = machines.little_llc()
    # The bench begins with full caches. What they keep in the guest is never written back: 2 of 67 MB (3 %).
    bench = stream_threads.in_bench(machine, threads)
    assert stream_threads.in_guest(tmp_path, machine, threads) == pytest.approx(1.03 * bench, rel=0.05)
