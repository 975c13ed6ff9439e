"""A newcomer's jobs are scripts of at most three commands. Each runs here, and its answer is checked."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cxlab.bench import sweep
from cxlab.bench.request import Mix, Placement, Workload
from cxlab.bench.result import Result, mlc_lines
from cxlab.calibrate.machine_files import MachineFiles

JOBS = Path(__file__).with_name("jobs")
TESTBED = Path(__file__).resolve().parents[1] / "calibrate" / "testbed.toml"
MOST_COMMANDS = 3
BRIDGE = "dmsim-asic.root_port.bridge_latency"


def do(job: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script in ``folder``, with this environment's `cxlab`."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", JOBS / f"{job}.sh"],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def write_program(path: Path) -> None:
    """Write one that stores to memory in no order.

    A program that mostly waits for its files takes as long on each placement.
    """
    path.write_text('#!/bin/sh\nexec awk "BEGIN { for (i = 0; i < 30000; i++) a[i * 7919 % 1000003] = i }"\n')
    path.chmod(0o755)


def milliseconds(text: str) -> list[float]:
    """Every simulated time that is shown."""
    found = re.findall(r"simulated time +([0-9.]+) (us|ms)", text)
    return [float(number) * (1 if unit == "ms" else 1e-3) for number, unit in found]


@pytest.mark.parametrize("job", sorted(JOBS.glob("*.sh")), ids=lambda job: job.stem)
def test_a_job_is_at_most_three_commands_and_says_what_it_is(job: Path) -> None:
    first, *lines = job.read_text().splitlines()
    assert first.startswith("# ") and first.endswith(".")
    assert 1 <= len(lines) <= MOST_COMMANDS
    assert all(shlex.split(line)[0] == "cxlab" for line in lines)


def test_the_first_command(tmp_path: Path) -> None:
    done = do("01_first_command", tmp_path)
    assert done.stdout.split()[0] == hashlib.sha256(Path("/bin/ls").read_bytes()).hexdigest()
    # The newcomer sees what the program's memory was, and where the files are.
    assert "a load takes" in done.stderr and "cxlab: results: " in done.stderr


def test_three_placements(tmp_path: Path) -> None:
    write_program(tmp_path / "program")
    done = do("02_three_placements", tmp_path)
    [dram] = milliseconds(done.stderr)
    cxl, interleaved = milliseconds(done.stdout)
    # A load from CXL memory takes longer, and half of the pages lie between.
    assert dram < interleaved < cxl


def test_why_a_program_is_slow(tmp_path: Path) -> None:
    write_program(tmp_path / "program")
    said = do("03_why_slow", tmp_path).stdout
    dram, cxl = json.loads((tmp_path / "why.json").read_text())["columns"]
    # Causes are shares of the first column's time; they add up to what the slowdown adds.
    assert dram["slowdown"] == 1 and cxl["slowdown"] > 1
    assert sum(cxl["because"].values()) == pytest.approx(cxl["slowdown"] - 1, abs=1e-6)
    # The sentence comes first, and names the slowdown that the file has.
    assert said.startswith(f"{cxl['slowdown']:.2f} times slower on cxl than on dram: ")


def test_another_device(tmp_path: Path) -> None:
    do("04_another_device", tmp_path)
    shipped, asic = (
        json.loads((tmp_path / f"{name}.json").read_text())["points"][0]["latency_ns"]
        for name in ("shipped", "asic")
    )
    # CXL-DMSim, figure 10: the FPGA card's latency is above that of the ASIC.
    assert shipped > asic


def test_a_sweep_of_twenty(tmp_path: Path) -> None:
    (tmp_path / "devices.toml").write_text(
        "[axes]\nmachine = ['8468v-asic', '8468v-fpga']\nplacement = ['dram', 'cxl']\n"
        "seed = [1, 2, 3, 4, 5]\nworkload = ['idle']\n[workloads.idle]\nbench = 'latency'\n"
    )
    answer = do("05_sweep", tmp_path).stdout
    rows = [line.split(",") for line in answer.splitlines() if line.startswith("8468v-")]
    ns = {(machine, placed): float(value) for machine, placed, _, value in rows}
    assert [int(runs) for _, _, runs, _ in rows] == [5] * 4
    # CXL memory is further than DRAM, and the FPGA card further than the ASIC (CXL-DMSim, figure 10).
    assert ns["8468v-asic", "dram"] < ns["8468v-asic", "cxl"] < ns["8468v-fpga", "cxl"]


def test_a_report(tmp_path: Path) -> None:
    do("06_report", tmp_path)
    page = (tmp_path / "report.html").read_text()
    for heading in (
        "Configuration",
        "Where a load&#x27;s time goes",
        "Bandwidth over time",
        "Topology of 8468v-asic",
    ):
        assert heading in page or heading.replace("&#x27;", "'") in page
    # One file: nothing is fetched.
    assert not re.search(r'<(?:script|link|img)[^>]*(?:src|href)="https?://', page)


def test_a_calibration_from_mlcs_output(tmp_path: Path) -> None:
    truth = MachineFiles(str(TESTBED)).leaves[BRIDGE].value
    workload = Workload(str(TESTBED), Placement((("cxl", 1),)), 1, Mix(1, 0))
    points = sweep.run([workload.job(delay) for delay in (0, 200, 400, 1500, 20000)], "test")
    lines = mlc_lines(Result("loaded-latency", workload, points))
    heading = ["Intel(R) Memory Latency Checker - v3.11", "Measuring Loaded Latencies for the system"]
    (tmp_path / "mlc.txt").write_text("\n".join([*heading, *lines]) + "\n")
    off = {BRIDGE: 0.7 * truth}
    MachineFiles(str(TESTBED)).write(tmp_path / "start.toml", off, {BRIDGE: "off"}, "a start")
    done = do("07_calibration", tmp_path)
    fitted = MachineFiles(str(tmp_path / "mine.toml")).leaves[BRIDGE].value
    # The bridge is a part of each load's latency, so the points at low load find it.
    assert fitted == pytest.approx(truth, rel=0.1)
    assert f"{tmp_path.name}" not in done.stdout and "mine.toml, cxl: " in done.stdout


def test_a_cost_question(tmp_path: Path) -> None:
    said = do("08_cost", tmp_path).stdout
    # EuroSys'24, section 6: its example saves 25.98 %.
    assert said.startswith("CXL memory pays: ") and "25.98 %" in said


def test_linuxs_view_of_the_device(tmp_path: Path) -> None:
    (tmp_path / "look.sh").write_text("cxl list -M -R -u\nnumactl -H\n")
    seen = do("09_linux_view", tmp_path).stdout
    assert '"memdev":"mem0"' in seen and '"region":"region0"' in seen
    assert "node 1 size: 256 MB" in seen


def test_a_new_machine_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        f'description = "the testbed with a slow medium"\nbased_on = "{TESTBED}"\n'
        '[nodes.cxl.device.memory.coarse]\nlatency = "150 ns"\n'
    )
    mine = float(re.findall(r"cxl: ([0-9.]+) ns", do("10_new_machine", tmp_path).stdout)[0])
    [base] = sweep.run([Workload(str(TESTBED), Placement((("cxl", 1),)), 0).job(0)], "test")
    # The medium takes 100 ns longer. An access meets flits and banks at another moment, which is below 1 ns.
    assert base.latency_ns is not None and mine == pytest.approx(base.latency_ns + 100, abs=1)
