"""``cxlab top``: who waits for which data is known of a program, so what is said can be checked."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cxlab.run.guest import artefacts
from cxlab.top import names, objects, profile, ranking
from guests import Cxlab

SOURCE = Path(__file__).parent.parent / "programs" / "top.c"
#: Each of them misses all caches: the list of 4 MiB was flushed before.
LOADS = 10_000


def cxlab(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cxlab", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on CXL with a profile and a recording."""
    folder = tmp_path_factory.mktemp("top")
    program = folder / "top"
    subprocess.run(["gcc", f"-I{artefacts.INCLUDE}", "-O1", "-g", "-o", program, SOURCE], check=True)
    options = ["--membind", "cxl", "--no-prefetch", "--profile", "--record", str(folder / "trace")]
    ran = Cxlab(folder, "all").run(str(program), str(LOADS), options=options)
    assert ran.status == 0, ran.stderr
    return folder


def out(folder: Path) -> Path:
    """The run's folder."""
    (found,) = folder.rglob(profile.FILE)
    return found.parent


def test_the_function_that_waits_and_its_data_come_first(folder: Path) -> None:
    run = profile.read(out(folder))
    entries = [entry for entry in run.profile.entries if run.profile.nodes[entry.node] == "cxl"]
    named = names.Names(run.profile, objects.loaded(run.profile, objects.candidates(run)))
    (function, waits), *_ = ranking.functions(named, entries)
    (data, of_data), *_ = ranking.data(named, entries)
    assert function.startswith("wait_for_cold (top")
    assert waits.lines == of_data.lines == LOADS
    line = (
        SOURCE.read_text()
        .splitlines()
        .index("__attribute__((noinline)) static char *make_cold(size_t bytes) { return malloc(bytes); }")
    )
    where = f" (top.c:{line + 1})" if shutil.which("addr2line") else ""
    assert data == f"allocated in make_cold{where}"
    # One load at a time: its stall is its latency, but for what the core does meanwhile.
    assert waits.stall_ps == pytest.approx(waits.latency_ps, rel=0.02)
    stack = max(ranking.stacks(named, entries), key=lambda one: one[1].stall_ps)[0]
    assert stack[-3:] == ("main", "wait_for_cold", f"data: {data}")


def test_a_profile_changes_no_answer(folder: Path) -> None:
    """The recording has the answers of a model with a profile; without one they are the same."""
    done = cxlab("replay", str(folder / "trace"))
    assert done.returncode == 0 and done.stdout.endswith("with the recorded ones: all the same\n"), (
        done.stderr
    )


def test_what_is_exported_adds_up(folder: Path, tmp_path: Path) -> None:
    scope, folded = tmp_path / "waits.json", tmp_path / "waits.folded"
    for file in (scope, folded):
        done = cxlab("top", str(out(folder)), "--export", str(file))
        assert done.returncode == 0, done.stderr
        assert "wait_for_cold (top, top.c" in done.stdout or not shutil.which("addr2line")
    document = json.loads(scope.read_bytes())
    stalls, lines = document["profiles"]
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    assert len(stalls["samples"]) == len(stalls["weights"]) and stalls["unit"] == "nanoseconds"
    assert max(index for sample in stalls["samples"] for index in sample) == len(frames) - 1
    assert sum(stalls["weights"]) == pytest.approx(stalls["endValue"])
    assert sum(lines["weights"]) >= LOADS
    counted = sum(int(line.rpartition(" ")[2]) for line in folded.read_text().splitlines())
    # "one count for 10 ns of stalls": Firefox Profiler makes a sample of each count, so they are few.
    count_ns = float(done.stderr.rpartition("one count for ")[2].split()[0])
    assert counted * count_ns == pytest.approx(stalls["endValue"], rel=0.01)
    assert counted <= 1_000_000


def test_each_column_of_a_comparison_has_its_profile(folder: Path, tmp_path: Path) -> None:
    """The second column is a replay: its profile names the same function and data."""
    out = tmp_path / "compared"
    done = cxlab(
        "compare", "--profile", "--no-prefetch", "--out", str(out), "--", str(folder / "top"), "1000"
    )
    assert done.returncode == 0, done.stderr
    for node in ("dram", "cxl"):
        top = cxlab("top", str(out / node), "--node", node)
        assert "wait_for_cold (top" in top.stdout and "allocated in make_cold" in top.stdout, top.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--node", "hbm"], "valid: dram, cxl"),
        (["--export", "waits.svg"], "valid: .json, .txt, .folded"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, options: list[str], says: str) -> None:
    done = cxlab("top", str(out(folder)), *options)
    assert done.returncode != 0 and says in done.stderr


def test_a_run_without_a_profile_says_how_to_get_one(tmp_path: Path) -> None:
    done = cxlab("top", str(tmp_path))
    assert done.returncode != 0 and "--profile" in done.stderr
