"""The guest's disk in simulated time, for swap and for files.

Programs run on while the drive works, and its requests overlap.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from guests import Cxlab, Ran

MIB = 1 << 20
#: Of the program, more than DRAM has, so that what was touched before goes out.
MORE = 300 * MIB
OPTIONS = ["--memory", "dram=256M,cxl=256M", "--membind", "dram", "--swap", "512M"]
PAGES = 50
PAGE = 4096
#: Samsung, PM983 specification rev. 1.0: a random read, typical [ns].
READ_NS = 85_000
#: Of 50 pages, those that Linux reads ahead, or has read for another, are no requests of their own.
OWN_REQUESTS = 0.9
#: Most of the run lies between windows. Each instruction there takes the pace of the last window. A round of
#: pages is half a million instructions, so it has ten windows. With two or three, one of misses decides.
SAMPLED = ["--sample", "detail=10k,warm=10k,every=60k"]


def swap_in(programs: Path, folder: Path, *options: str) -> Ran:
    """Bring pages back alone, with four threads, and beside a computation."""
    return Cxlab(folder, "marker").run(
        *(str(programs / "swap_in"), str(PAGES), str(MORE)), options=[*OPTIONS, *options]
    )


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trace") / "swap.trace"


@pytest.fixture(scope="module")
def ran(programs: Path, tmp_path_factory: pytest.TempPathFactory, trace: Path) -> Ran:
    ran = swap_in(programs, tmp_path_factory.mktemp("disk"), "--record", str(trace))
    assert ran.status == 0, ran.stderr
    return ran


def figures(ran: Ran) -> list[float]:
    *ns, wrong = ran.stdout.split()
    assert int(wrong) == 0
    return [float(one) for one in ns]


def drive(ran: Ran) -> dict[str, Any]:
    """The drive's part of statistics.json."""
    whole = json.loads((ran.out / "statistics.json").read_bytes())
    [part] = [part for part in whole["parts"] if part["name"] == "drive"]
    return {entry["name"]: entry["value"] for entry in part["statistics"]}


def test_a_page_comes_back_after_a_read_of_the_drive(ran: Ran) -> None:
    """Linux adds a few microseconds of its own."""
    alone, *_ = figures(ran)
    assert OWN_REQUESTS * READ_NS < alone / PAGES < READ_NS + 15_000
    assert ran.summary["swap"]["drive"] == "pm983"


def test_requests_of_several_threads_are_under_way_together(ran: Ran) -> None:
    alone, together, *_ = figures(ran)
    # A quarter, and what four threads on one processor wait for each other.
    assert together < 0.6 * alone


def test_a_program_computes_while_its_pages_come(ran: Ran) -> None:
    """One processor: with the disk's time in its own, both would take the sum."""
    alone, _, computed, both = figures(ran)
    assert both >= max(alone, computed)
    assert both < max(alone, computed) + 0.2 * min(alone, computed)


def test_the_drive_tells_what_it_did(ran: Ran) -> None:
    told = drive(ran)
    assert told["reads"] >= OWN_REQUESTS * 3 * PAGES
    assert told["read_bytes"] % 4096 == 0 and told["read_bytes"] >= 4096 * told["reads"]
    assert told["read_latency"]["min"] == pytest.approx(READ_NS, rel=0.01)


def test_a_recording_answers_as_the_guest_did_and_takes_another_drive(ran: Ran, trace: Path) -> None:
    seconds = {}
    for part in ("v-nand-tlc", "z-nand"):
        command = [
            *(sys.executable, "-m", "cxlab"),
            "replay",
            "--set",
            f"drive.flash.part={part}",
            str(trace),
        ]
        done = subprocess.run(
            [*command, "--json", f"{trace}.{part}"], check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        seconds[part] = json.loads(Path(f"{trace}.{part}").read_bytes())["simulated_seconds"]
    again = subprocess.run(
        [sys.executable, "-m", "cxlab", "replay", str(trace)], check=False, capture_output=True, text=True
    )
    assert "all the same" in again.stdout + again.stderr
    assert seconds["v-nand-tlc"] == ran.summary["simulated_seconds"]
    # Z-NAND reads in 3 us, this TLC in 60.
    requests = drive(ran)["reads"]
    assert seconds["z-nand"] < seconds["v-nand-tlc"] - requests / 4 * 40e-6


def test_a_sampled_replay_keeps_the_time_that_the_guest_rested(ran: Ran, trace: Path) -> None:
    file = trace.with_suffix(".sampled")
    command = [sys.executable, "-m", "cxlab", "replay", *SAMPLED, str(trace), "--json", str(file)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    replayed = json.loads(file.read_bytes())
    assert replayed["time"]["io_s"] == pytest.approx(ran.summary["time"]["io_s"], rel=1e-3)
    assert replayed["simulated_seconds"] == pytest.approx(ran.summary["simulated_seconds"], rel=0.02)


@pytest.mark.once_a_week
def test_two_processors_find_their_pages(programs: Path, tmp_path: Path) -> None:
    ran = swap_in(programs, tmp_path, "--cpus", "2")
    assert ran.status == 0, ran.stderr
    alone, together, *_ = figures(ran)
    assert OWN_REQUESTS * READ_NS < alone / PAGES < READ_NS + 20_000
    assert together < 0.75 * alone


@pytest.fixture(scope="module")
def sampled(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    sampled = swap_in(programs, tmp_path_factory.mktemp("sampled"), *SAMPLED)
    assert sampled.status == 0, sampled.stderr
    return sampled


def test_a_sampled_run_finds_its_pages(sampled: Ran) -> None:
    """Windows begin and end with requests under way.

    Linux's own part, 5 us in detail, takes the pace of the last window there, which may be that of misses.
    """
    alone, *_ = figures(sampled)
    assert OWN_REQUESTS * READ_NS < alone / PAGES < READ_NS + 40_000


def test_requests_are_under_way_together_and_beside_a_computation_between_windows_too(
    ran: Ran, sampled: Ran
) -> None:
    alone, together, computed, both = figures(sampled)
    assert together < 0.6 * alone
    assert computed <= both < max(alone, computed) + 0.2 * min(alone, computed)
    assert sampled.summary["simulated_seconds"] == pytest.approx(ran.summary["simulated_seconds"], rel=0.02)
    # Where all wait for the drive is no guess.
    assert sampled.summary["time"]["io_s"] == pytest.approx(ran.summary["time"]["io_s"], rel=0.05)


@pytest.mark.once_a_week
def test_the_drive_of_the_machine_is_the_one_between_windows(programs: Path, tmp_path: Path) -> None:
    """A read of Z-NAND takes 3 us, of this TLC 60: a page comes that much sooner."""
    ran = swap_in(programs, tmp_path, *SAMPLED, "--set", "drive.flash.part=z-nand")
    assert ran.status == 0, ran.stderr
    alone, *_ = figures(ran)
    assert alone / PAGES < READ_NS - 57_000 + 15_000


@pytest.mark.once_a_week
def test_a_page_takes_the_drives_link_in_a_sampled_run_too(programs: Path, tmp_path: Path) -> None:
    """4096 B over 40 MB/s take 102.4 us, in windows and between them."""
    ran = swap_in(programs, tmp_path, *SAMPLED, "--set", "drive.link=40 MB/s")
    assert ran.status == 0, ran.stderr
    alone, *_ = figures(ran)
    assert OWN_REQUESTS * (READ_NS + 102_400) < alone / PAGES < READ_NS + 102_400 + 40_000


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file whose pages have their numbers in their first four bytes."""
    folder = tmp_path_factory.mktemp("database")
    numbered = (number.to_bytes(4, "little").ljust(PAGE, b"\0") for number in range(PAGES))
    (folder / "pages").write_bytes(b"".join(numbered))
    return folder


@pytest.fixture(scope="module")
def read(programs: Path, tmp_path_factory: pytest.TempPathFactory, database: Path) -> Ran:
    ran = Cxlab(tmp_path_factory.mktemp("files"), "marker").run(
        *(str(programs / "file_in"), "/disk/pages", str(PAGES)),
        options=["--disk", "64M", "--disk-from", str(database)],
    )
    assert ran.status == 0, ran.stderr
    return ran


def test_a_page_of_a_file_comes_after_a_read_of_the_drive(read: Ran) -> None:
    alone, *_ = figures(read)
    assert READ_NS < alone / PAGES < READ_NS + 5_000
    assert read.summary["disk"]["drive"] == "pm983"
    # Two reads of neighbours at one time may be one request.
    assert 0.95 * 3 * PAGES <= drive(read)["reads"] <= 3 * PAGES


def test_reads_of_files_are_under_way_together_and_beside_a_computation(read: Ran) -> None:
    """Four dies at once; on one processor, a computation takes all but what Linux does for each read."""
    alone, together, computed, both, _ = figures(read)
    assert together < 1.2 * alone / 4
    assert max(alone, computed) <= both < max(alone, computed) + 0.1 * min(alone, computed)


def test_a_write_is_done_when_the_drives_buffer_has_it(read: Ran) -> None:
    """The drive has power-loss protection: it answers before the flash has the page, and takes no flush."""
    told = drive(read)
    assert (told["writes"], told["written_bytes"]) == (PAGES, PAGES * PAGE)
    *_, written = figures(read)
    assert told["write_latency"]["mean"] < written / PAGES < told["write_latency"]["mean"] + 10_000


@pytest.mark.once_a_week
def test_runs_of_one_date_are_the_same_to_the_bit(programs: Path, tmp_path: Path, database: Path) -> None:
    """Linux swaps pages out, and a file system has dates in it."""
    options = [*OPTIONS, "--disk", "64M", "--disk-from", str(database), "--date", "2026-11-25T04:30:00Z"]
    told = []
    for _ in range(2):
        ran = Cxlab(tmp_path, "marker").run(str(programs / "swap_in"), str(PAGES), str(MORE), options=options)
        assert ran.status == 0, ran.stderr
        told.append((ran.stdout, (ran.out / "statistics.json").read_bytes()))
    assert told[0] == told[1]
    assert json.loads((ran.out / "config.json").read_bytes())["date"] == "2026-11-25T04:30:00Z"


def test_swap_and_files_share_the_drive_and_the_caller_owns_the_files(tmp_path: Path, database: Path) -> None:
    ran = Cxlab(tmp_path).sh(
        "cut -d' ' -f1 /proc/swaps | tail -1; grep /srv/data /proc/mounts | cut -d' ' -f1,3; cd /srv/data;"
        "ls -A; stat -c %u .; cmp pages "
        + str(database / "pages")
        + " && echo same; echo new >pages; cat pages",
        options=["--swap", "64M", "--disk", "64M", "--disk-at", "/srv/data", "--disk-from", str(database)],
    )
    assert ran.status == 0, ran.stderr
    uid = str(os.getuid())
    assert ran.stdout.decode().split() == [*("/dev/vda1", "/dev/vda2", "ext4", "pages", uid, "same", "new")]
    # Neither the folder to mount on nor what is on the disk is a file that could be kept.
    assert ran.summary["files"] == []
    assert (database / "pages").stat().st_size == PAGES * PAGE


def test_a_machine_without_a_drive_has_no_swap(tmp_path: Path) -> None:
    machine = tmp_path / "bare.toml"
    machine.write_text('based_on = "8468v-asic"\nwithout = ["drive"]\n')
    ran = Cxlab(tmp_path).run("true", options=["--machine", str(machine), "--swap", "64M"])
    assert ran.status != 0
    assert "has no drive" in ran.stderr and "--set drive=pm983" in ran.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_full_disk_of_the_host_ends_the_run_and_is_named(tmp_path: Path) -> None:
    """Linux would try to swap out for ever: the host's disk has 32 MiB, and 128 MiB have to go out."""
    program = ("python3", "-S", "-c", "held = b'x' * (260 << 20); print(sum(held[::1 << 16]))")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32M", "none", tmp_path], check=True)
    try:
        popen = Cxlab(tmp_path).start(*program, options=[*OPTIONS, "--detail", "off"])
        _, said = popen.communicate(timeout=120)
    finally:
        subprocess.run(["umount", "--lazy", tmp_path], check=True)
    assert popen.returncode != 0
    assert b"the guest's disk" in said and b"No space left on device" in said and b"--out" in said
