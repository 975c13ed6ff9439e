"""Whatever ends a run: a clear message, the right exit status, no process, no half-written file."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cxlab.machine import artefacts, description, guest, kernel_image, placement, supervisor
from cxlab.machine import initramfs as initramfs_cache
from cxlab.machine.errors import GuestPanic
from cxlab.machine.interruption import Interruption
from cxlab.machine.progress import Progress
from cxlab.machine.request import Outcome, Request
from cxlab.machine.run_directory import RunDirectory
from guests import ENDLESS, Cxlab

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


def test_qemu_that_dies_is_named(cxlab: Cxlab, children: Children) -> None:
    run = cxlab.start("sh", "-c", ENDLESS)
    assert run.stdout is not None and run.stderr is not None
    assert run.stdout.readline() == b"running\n"
    [qemu] = children(run.pid)
    os.kill(qemu, signal.SIGKILL)
    said = run.stderr.read().decode()
    assert run.wait(LIMIT) == 125
    assert "MCH005: QEMU ended by SIGKILL before the program did" in said


def run_as_root_of_the_guest(folder: Path, initramfs: Path, *argv: str) -> Outcome:
    """The supervisor itself, on a machine of two small nodes."""
    machine = description.load("8468v-asic")
    image = kernel_image.ensure()
    identity = guest.Identity(0, 0, ())
    program = guest.Program(argv, "/", identity, {"PATH": "/bin"}, placement.DEFAULT)
    size = 512 * placement.MIB
    request = Request(
        machine=machine,
        node_bytes=(size, size),
        cpus=1,
        skew_ps=2_000_000,
        program=program,
        detail="off",
        kernel=image.vmlinuz,
        initramfs=initramfs,
    )
    directory = RunDirectory.create(folder / "out", argv[0])
    with Interruption() as interruption:
        return supervisor.run(request, directory, interruption, Progress(directory.partial_summary))


def test_a_guest_that_panics_while_the_program_runs(tmp_path: Path) -> None:
    archive = initramfs_cache.ensure(kernel_image.ensure(), artefacts.built(artefacts.GUEST_INIT))
    outcome = run_as_root_of_the_guest(tmp_path, archive, "sh", "-c", "echo c > /proc/sysrq-trigger")
    assert isinstance(outcome.failure, GuestPanic)
    assert "the guest's kernel panicked: sysrq triggered crash" in str(outcome.failure)


def test_a_guest_that_panics_while_it_boots(tmp_path: Path) -> None:
    empty = tmp_path / "initramfs"
    empty.write_bytes(b"")
    outcome = run_as_root_of_the_guest(tmp_path, empty, "true")
    assert isinstance(outcome.failure, GuestPanic)
    assert "Unable to mount root fs" in str(outcome.failure)


def test_a_node_too_small_for_the_program_is_said(cxlab: Cxlab) -> None:
    script = "area = bytearray(200 << 20)"
    ran = cxlab.run("python3", "-c", script, options=["--memory", "dram=1G,cxl=64M", "--membind", "cxl"])
    assert ran.status == 128 + signal.SIGKILL
    assert "a node was too small: --memory makes it larger, now dram 1024 MiB, cxl 64 MiB" in ran.stderr
    assert any("Killed process" in line for line in ran.summary["out_of_memory"])


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("echo QEMU emulator version 7.2.22", "QEMU 7.2.22 was found, 10.0.x is wanted"),
        (None, "qemu-system-x86_64 is not on PATH"),
    ],
)
def test_another_qemu_or_none(cxlab: Cxlab, tmp_path: Path, version: str | None, message: str) -> None:
    if version is not None:
        fake = tmp_path / "qemu-system-x86_64"
        fake.write_text(f"#!/bin/sh\n{version}\n")
        fake.chmod(0o755)
    done = subprocess.run(
        cxlab.command([], ["true"]),
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 125
    assert message in done.stderr.decode()
    assert "bookworm-backports" in done.stderr.decode()
    assert not cxlab.out.exists()
