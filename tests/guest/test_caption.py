"""The whole loop on unmodified Linux: the servers' controller, in the guest, moves a real program.

The machine and what is best on it: experiments/machines.py (slow_dram). The sweep that finds the best share,
and every mode against it: experiments/studies/caption_guest.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from cxlab import model
from cxlab.caption.log import read

from experiments import machines

COMMAND = [sys.executable, "-m", "cxlab", "caption"]
#: Three arrays of it are above the machine's caches, 5.75 MiB.
ARRAY = 3 << 20
STEER = ["--start", "50%", "--move-rate", "4GB/s", "--least-samples", "3"]


def steer(programs: Path, folder: Path, samples: int) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    machine = machines.slow_dram(folder)
    options = ["--machine", machine, "--out", folder / "out", *STEER, "--most-samples", str(samples)]
    program = [programs / "caption_stream", str(ARRAY), str(1 << 40)]
    return subprocess.run([*COMMAND, *options, "--", *program], capture_output=True, text=True, check=False)


def log(folder: Path) -> list[dict[str, Any]]:
    header, *lines = map(json.loads, (folder / "out" / "caption.jsonl").read_text().splitlines())
    assert header["format"] == "caption-log-1"
    return lines


@pytest.fixture(scope="module")
def steered(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("caption") / "steered"
    ran = steer(programs, folder, 40)
    assert ran.returncode == 0, ran.stderr
    assert "1ms of simulated time stands for a second of the paper" in ran.stderr
    assert "the old weights are restored" in ran.stderr
    assert ran.stdout.startswith("rests at ")
    return folder


def test_caption_moves_a_program_off_half_and_half(steered: Path) -> None:
    """CXL memory has half of DRAM's bandwidth and twice its latency.

    Half and half, it is CXL memory that binds, with 3.2 GB/s for half of the bytes: 6.4 GB/s in all, which
    DRAM has alone. The best share is at most that of the bandwidths, which CXL's latency can only lower.
    """
    lines = log(steered)
    assert lines[0]["cxl_share"] == 0.5
    resting = [line["cxl_share"] for line in lines[-15:]]
    assert 0.05 <= fmean(resting) <= machines.BEST_BY_BANDWIDTH + 0.05
    # The first samples are all of 50 %; the kernel's own pages, and the controller, take a little.
    first, last = (fmean(line["throughput"] for line in part) for part in (lines[3:5], lines[-3:]))
    assert last > 1.1 * first
    assert (steered / "out" / "caption.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.once_a_week
def test_the_same_run_gives_the_same_samples(programs: Path, steered: Path, tmp_path: Path) -> None:
    """Nothing of the host's time reaches the controller: a shorter run is the beginning of a longer one."""
    again = tmp_path / "steered"
    ran = steer(programs, again, 12)
    assert ran.returncode == 0, ran.stderr
    assert log(again) == log(steered)[:12]


@pytest.mark.once_a_week
def test_the_counters_are_those_of_all_processors(programs: Path, tmp_path: Path) -> None:
    """A round of the loop has four instructions and takes a cycle. Others take a tenth at most."""
    loop = f"{programs / 'loop'} {1 << 40}"
    options = [
        "--cpus",
        "2",
        "--mode",
        "sweep",
        "--shares",
        "0%",
        "--interval",
        "200us",
        "--least-samples",
        "4",
    ]
    program = ["sh", "-c", f"{loop} & {loop}"]
    folder = tmp_path / "out"
    ran = subprocess.run(
        [*COMMAND, *options, "--out", folder, "--", *program], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    best_m_s = 2 * 4 * model.describe("8468v-asic").host.frequency_ghz * 1e3
    for line in (line for line in read(folder / "caption.jsonl") if not line.left_out):
        assert 0.9 * best_m_s < line.throughput <= best_m_s
        assert line.ipc == pytest.approx(4, rel=0.1)


def test_what_it_cannot_steer_is_refused_with_the_reason() -> None:
    for options, reason in (
        (["--machine", "7742"], "its own socket has no CXL memory to place pages on"),
        (["--detail", "marker"], "the controller needs the counters of the whole run"),
    ):
        ran = subprocess.run([*COMMAND, *options, "--", "true"], capture_output=True, text=True, check=False)
        assert ran.returncode == 125
        assert reason in ran.stderr
