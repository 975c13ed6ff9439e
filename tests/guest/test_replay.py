"""A recorded run replays bit for bit without QEMU; the same run once more takes the same simulated time."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cxlab.run.guest import kernel_image
from cxlab.run.host import saved_boot
from guests import Cxlab, Ran, replay

#: What the program reads, and so what must agree.
READS = 100_000
SIMULATED = ("machine", "simulated_seconds", "instructions", "ipc", "time", "nodes", "core")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replay")


@pytest.fixture(scope="module")
def recorded(programs: Path, folder: Path) -> Ran:
    ran = Cxlab(folder, "all").run(str(programs / "stamps"), options=["--record", str(folder / "trace")])
    assert ran.status == 0, ran.stderr
    return ran


def test_every_answer_and_every_figure_is_the_same(recorded: Ran, folder: Path) -> None:
    done = replay(str(folder / "trace"), "--json", str(folder / "replay.json"))
    assert done.returncode == 0, done.stderr
    replayed: dict[str, Any] = json.loads((folder / "replay.json").read_bytes())
    assert replayed["answers_compared"] >= READS
    assert {key: replayed[key] for key in SIMULATED} == {key: recorded.summary[key] for key in SIMULATED}
    assert recorded.stdout.split()[1] == b"0"


def test_a_timeline_of_a_window_is_what_perfetto_reads(recorded: Ran, folder: Path) -> None:
    file = folder / "timeline.json"
    done = replay(str(folder / "trace"), "--timeline", str(file), "--window", "10us:60us")
    assert done.returncode == 0, done.stderr
    events = json.loads(file.read_bytes())["traceEvents"]
    kinds = {event["ph"] for event in events}
    assert kinds == {"M", "b", "e", "C"}
    # Each slice that begins ends; a request may begin before the window and end behind it.
    assert sum(e["ph"] == "b" for e in events) == sum(e["ph"] == "e" for e in events) > 100
    assert all(10.0 <= event["ts"] <= 60.0 for event in events if event["ph"] == "C")


def test_another_machine_may_answer_differently(recorded: Ran, folder: Path) -> None:
    done = replay(str(folder / "trace"), "--machine", "8468v-fpga", "--json", str(folder / "other.json"))
    assert done.returncode == 0, done.stderr
    other = json.loads((folder / "other.json").read_bytes())
    assert other["machine"] == "8468v-fpga"
    assert other["instructions"] == recorded.summary["instructions"]


def twice(tmp_path: Path, *program: str) -> list[Ran]:
    """In one folder: Linux looks folders up by inode number, and another may take more instructions."""
    return [Cxlab(tmp_path, "all").run(*program) for _ in range(2)]


def test_the_same_run_again_is_the_same(tmp_path: Path) -> None:
    """Boot, files, timers, what the kernel draws at random: whatever else the host does meanwhile."""
    text = tmp_path / "text"
    text.write_text("".join(f"{line * 7919 % 10007}\n" for line in range(5000)))
    first, again = twice(tmp_path, "sort", str(text))
    assert {key: first.summary[key] for key in SIMULATED} == {key: again.summary[key] for key in SIMULATED}


def test_a_program_that_looks_at_the_date_takes_the_same_time(tmp_path: Path) -> None:
    """The date is the host's, and a program may do other things at another date."""
    script = "date > /dev/null; sleep 0.01; head -c 8 /dev/urandom"
    first, again = twice(tmp_path, "sh", "-c", script)
    assert first.stdout == again.stdout
    assert first.summary["simulated_seconds"] == pytest.approx(again.summary["simulated_seconds"], rel=1e-3)


@pytest.mark.parametrize("cpus", ["1", pytest.param("2", marks=pytest.mark.once_a_week)])
def test_a_guest_that_begins_where_linux_is_up_is_the_one_that_boots(tmp_path: Path, cpus: str) -> None:
    script = "ls /usr/lib & ls /usr/share & wait"
    runs = []
    for boot in ("saved", "whole"):
        (tmp_path / boot).mkdir()
        options = ["--cpus", cpus, "--boot", boot, "--membind", "cxl"]
        runs.append(Cxlab(tmp_path / boot, "all").run("sh", "-c", script, options=options))
    saved, whole = runs
    assert saved.status == whole.status == 0, saved.stderr + whole.stderr
    assert {key: saved.summary[key] for key in SIMULATED} == {key: whole.summary[key] for key in SIMULATED}


def test_a_state_that_is_damaged_or_cannot_be_loaded_is_made_anew(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    (cache / "cxlab").mkdir(parents=True)
    (cache / "cxlab" / "kernel").symlink_to(kernel_image.ensure().folder.parent)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    small = ["--memory", "dram=512M,cxl=256M"]
    first = Cxlab(tmp_path).run("echo", "first", options=small)
    assert (first.status, first.stdout) == (0, b"first\n"), first.stderr
    [state] = cache.glob("cxlab/boot/*/state")
    os.truncate(state, 1 << 20)
    damaged = Cxlab(tmp_path).run("echo", "damaged", options=small)
    assert (damaged.status, damaged.stdout) == (0, b"damaged\n"), damaged.stderr
    assert state.stat().st_size > 1 << 20
    # A state of which QEMU alone knows that it cannot load it.
    os.truncate(state, 1 << 20)
    saved_boot.seal(state.parent)
    refused = Cxlab(tmp_path).run("echo", "refused", options=small)
    assert refused.status == 125 and "was removed: run again" in refused.stderr, refused.stderr
    assert not state.exists()


@pytest.fixture(scope="module")
def chased(programs: Path, folder: Path) -> Path:
    """The trace of a program that lives from memory: three arrays of 4 MiB, on DRAM; caches are cold."""
    trace = folder / "chased"
    options = ["--membind", "dram", "--record", str(trace)]
    ran = Cxlab(folder, "marker").run(str(programs / "triad"), str(4 << 20), options=options)
    assert ran.status == 0, ran.stderr
    return trace


@pytest.mark.parametrize(
    ("options", "within"), [(["--membind", "cxl"], 0.05), (["--interleave", "dram,cxl"], 0.05)]
)
def test_a_recording_answers_for_another_placement(
    chased: Path, programs: Path, tmp_path: Path, options: list[str], within: float
) -> None:
    live = Cxlab(tmp_path, "marker").run(str(programs / "triad"), str(4 << 20), options=options)
    done = replay(str(chased), *options, "--json", str(tmp_path / "replay.json"))
    assert done.returncode == 0, done.stderr
    replayed = json.loads((tmp_path / "replay.json").read_bytes())
    seconds = live.summary["simulated_seconds"]
    assert replayed["simulated_seconds"] == pytest.approx(seconds, rel=within)
    # Which of them a prefetcher asked for first depends on the time.
    read = live.summary["nodes"]["cxl"]["read_bytes"]
    assert replayed["nodes"]["cxl"]["read_bytes"] == pytest.approx(read, rel=0.05)


def test_a_placement_that_cannot_be_is_refused(chased: Path) -> None:
    for options, message in (
        (["--membind", "hbm"], "valid: dram, cxl"),
        (["--membind", "dram,cxl"], "go to one node"),
        (["--membind", "cxl", "--interleave", "dram,cxl"], "exclude each other"),
    ):
        done = replay(str(chased), *options)
        assert done.returncode != 0
        assert message in done.stderr, done.stderr
