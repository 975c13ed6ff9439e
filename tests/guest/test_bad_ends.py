"""Whatever ends a run: a clear message, the right exit status, no process, no half-written file."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cxlab.run.errors import GuestPanic
from cxlab.run.guest import artefacts, initramfs, kernel_image
from guests import ENDLESS, PYTHON, Cxlab, run_as_root

Children = Callable[[int], set[int]]
#: Far more than any step takes: a bound against a test that hangs, not a measurement [s].
LIMIT = 60.0


def until(true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)


def gone(processes: set[int]) -> bool:
    return not any(Path(f"/proc/{pid}/exe").exists() for pid in processes)


def left_over(folder: Path) -> list[str]:
    """Names that a write in progress has."""
    return [p.name for p in folder.rglob(".*")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_booting(cxlab: Cxlab, children: Children, number: signal.Signals) -> None:
    run = cxlab.start("true")
    # The folder comes before the machine; what ran earlier was `qemu --version`.
    until(lambda: (cxlab.out / "config.json").exists() and children(run.pid), "QEMU")
    below = children(run.pid)
    run.send_signal(number)
    assert run.wait(LIMIT) == 128 + number
    assert gone(below)
    summary = cxlab.summary()
    assert (summary["complete"], summary["reason"]) == (False, f"interrupted by {number.name}")
    assert left_over(cxlab.folder) == []


def test_ctrl_c_while_the_program_runs(cxlab: Cxlab, children: Children) -> None:
    run = cxlab.start("sh", "-c", ENDLESS)
    assert run.stdout is not None
    assert run.stdout.readline() == b"running\n"
    below = children(run.pid)
    run.send_signal(signal.SIGINT)
    assert run.wait(LIMIT) == 130
    assert below and gone(below)
    assert cxlab.summary()["complete"] is False
    assert left_over(cxlab.folder) == []


def test_nothing_outlives_a_killed_supervisor(cxlab: Cxlab, children: Children) -> None:
    run = cxlab.start("sh", "-c", ENDLESS)
    assert run.stdout is not None
    assert run.stdout.readline() == b"running\n"
    below = children(run.pid)
    run.kill()
    run.wait()
    assert below
    until(lambda: gone(below), "QEMU's end")


def test_a_run_that_takes_too_long_is_ended(cxlab: Cxlab, children: Children) -> None:
    run = cxlab.start("sh", "-c", ENDLESS, options=["--timeout", "5s"])
    assert run.stderr is not None
    until(lambda: (cxlab.out / "config.json").exists() and children(run.pid), "QEMU")
    below = children(run.pid)
    said = run.stderr.read().decode()
    assert run.wait(LIMIT) == 125
    assert "MCH020: --timeout: the run was ended after 5 s" in said and "Traceback" not in said
    assert cxlab.summary()["complete"] is False
    assert gone(below) and left_over(cxlab.folder) == []


def named(processes: set[int], beginning: str) -> int:
    """The one whose command begins so; in front of each is bwrap, which waits for it."""
    [found] = [p for p in processes if Path(f"/proc/{p}/comm").read_text().startswith(beginning)]
    return found


def test_who_ended_the_model_is_not_qemu(tmp_path: Path, children: Children) -> None:
    run = Cxlab(tmp_path, "all").start("sh", "-c", ENDLESS)
    assert run.stdout is not None and run.stderr is not None
    assert run.stdout.readline() == b"running\n"
    model = named(children(run.pid), "python")
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        os.kill(model, number)
        time.sleep(0.5)
    said = run.stderr.read().decode()
    assert run.wait(LIMIT) == 125
    assert "MCH008: the model ended before the program did, because somebody ended it" in said
    assert "QEMU" not in said and "Traceback" not in said
    assert Cxlab(tmp_path).summary()["simulated_seconds"] > 0


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    cxlab = Cxlab(tmp_path, "all", overwrite=False)
    options = ["--keep", str(tmp_path / "kept"), "--record", str(tmp_path / "trace")]
    run = cxlab.start("sh", "-c", ENDLESS, options=options)
    assert run.stdout is not None
    assert run.stdout.readline() == b"running\n"
    run.kill()
    run.wait()
    assert len(left_over(tmp_path)) == 2
    again = cxlab.run("true", options=options)
    assert again.status == 125
    assert "holds a run that was killed (config.json" in again.stderr
    again = cxlab.run("true", options=[*options, "--overwrite"])
    assert again.status == 0, again.stderr
    assert again.stderr.count("which a killed run had left") == 2
    assert left_over(tmp_path) == []


def test_a_folder_that_was_deleted_is_said(cxlab: Cxlab) -> None:
    gone_folder = cxlab.folder / "gone"
    script = f'mkdir {gone_folder}; cd {gone_folder}; rmdir {gone_folder}; exec "$@"'
    command = ["sh", "-c", script, "sh", *cxlab.command([], ["true"])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert done.stderr.splitlines()[-1].endswith(
        "the working folder was deleted; valid: a folder that exists. Change to one with cd"
    )


def test_qemu_that_dies_is_named(cxlab: Cxlab, children: Children) -> None:
    run = cxlab.start("sh", "-c", ENDLESS)
    assert run.stdout is not None and run.stderr is not None
    assert run.stdout.readline() == b"running\n"
    os.kill(named(children(run.pid), "qemu"), signal.SIGKILL)
    said = run.stderr.read().decode()
    assert run.wait(LIMIT) == 125
    assert "MCH005: QEMU ended by SIGKILL before the program did" in said


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_qemu_ends_while_the_guest_asks_for_files(
    cxlab: Cxlab, children: Children, number: signal.Signals
) -> None:
    # QEMU's main loop, which answers requests, waits for the vCPU then: the vCPU must not wait for an answer.
    script = "echo running; i=0; while :; do i=$((i + 1)); [ -e /usr/absent/$i ]; [ -e /usr/absent$i ]; done"
    run = cxlab.start("sh", "-c", script)
    assert run.stdout is not None and run.stderr is not None
    assert run.stdout.readline() == b"running\n"
    os.kill(named(children(run.pid), "qemu"), number)
    until(lambda: run.poll() is not None, "the run's end")
    assert run.returncode == 125
    assert "MCH005: QEMU ended with exit status 0 before the program did" in run.stderr.read().decode()


def test_a_guest_that_panics_while_the_program_runs(tmp_path: Path) -> None:
    archive = initramfs.ensure(kernel_image.ensure(), artefacts.built(artefacts.GUEST_INIT))
    outcome = run_as_root(tmp_path, archive, "sh", "-c", "echo c > /proc/sysrq-trigger")
    assert isinstance(outcome.failure, GuestPanic)
    assert "the guest's kernel panicked: sysrq triggered crash" in str(outcome.failure)


def test_a_guest_that_panics_while_it_boots(tmp_path: Path) -> None:
    empty = tmp_path / "initramfs"
    empty.write_bytes(b"")
    outcome = run_as_root(tmp_path, empty, "true")
    assert isinstance(outcome.failure, GuestPanic)
    assert "Unable to mount root fs" in str(outcome.failure)


def test_a_node_too_small_for_the_program_is_said(cxlab: Cxlab) -> None:
    script = "area = bytearray(400 << 20)"
    ran = cxlab.run(PYTHON, "-c", script, options=["--memory", "dram=256M,cxl=256M", "--membind", "cxl"])
    assert ran.status == 128 + signal.SIGKILL
    assert "a node was too small: --memory makes it larger, now dram 256 MiB, cxl 256 MiB" in ran.stderr
    assert any("Killed process" in line for line in ran.summary["out_of_memory"])


def test_a_program_that_fills_every_node_is_ended_soon(cxlab: Cxlab) -> None:
    """Linux throws out the program's own pages first. Read again from the host, they once took 400 s."""
    begin = time.monotonic()
    script = "area = [bytearray(4 << 20) for _ in range(200)]"
    ran = cxlab.run(PYTHON, "-c", script, options=["--memory", "dram=256M,cxl=256M"])
    assert ran.status == 128 + signal.SIGKILL
    assert "a node was too small: --memory makes it larger, now dram 256 MiB, cxl 256 MiB" in ran.stderr
    assert time.monotonic() - begin < 150


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("echo QEMU emulator version 7.2.22", "QEMU 7.2.22 was found, 10.0.x or 11.1.x is wanted"),
        (None, "qemu-system-x86_64 is not on PATH"),
    ],
)
def test_another_qemu_or_none(cxlab: Cxlab, tmp_path: Path, version: str | None, message: str) -> None:
    if version is not None:
        fake = tmp_path / "qemu-system-x86_64"
        fake.write_text(f"#!/bin/sh\n{version}\n")
        fake.chmod(0o755)
    done = subprocess.run(
        cxlab.command([], ["/bin/true"]),
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 125
    assert message in done.stderr.decode()
    assert "bookworm-backports" in done.stderr.decode()
    assert not cxlab.out.exists()
