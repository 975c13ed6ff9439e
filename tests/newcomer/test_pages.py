"""Commands of the tutorial and of the how-to pages run in their order, each page in a folder of its own.

Files that a page shows are written there first. ``ELSEWHERE`` has the commands that other tests run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cxlab.run.guest import artefacts, cache
from cxlab.run.guest.checkpoint import FOLDER as CHECKPOINTS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    str(page.relative_to(DOCS)) for part in ("tutorial", "how-to") for page in (DOCS / part).glob("*.md")
)
#: Beginnings of commands, and where they run.
ELSEWHERE = {
    "cxlab bench loaded-latency --host": "takes minutes: tests/bench/test_host.py, with a small buffer",
    "cxlab boot --cxl device": "needs a terminal: tests/guest/test_boot.py; job 9 of tests/newcomer",
    "cxlab calibrate --measured mlc.txt": "takes minutes: job 7 of tests/newcomer, with one free parameter",
    "cxlab caption": "needs a long program: tests/guest/test_caption.py",
    "cxlab completion bash >": "writes to the user's home: tests/python/test_help.py",
    "cxlab doctor --fix": "may download: scripts/check_wheel, in bare roots",
    "cxlab run --cxl device --tiering": "needs 4 GB: tests/guest/test_memory_management.py, with less",
    "cxlab run --detail off --cxl device --memory": "boots: tests/guest/test_persistent.py",
    "cxlab run --disk 4G": "boots: tests/guest/test_disk.py, with less",
    "cxlab run --from-output": "tests/guest/test_bounds.py, with its figures",
    "cxlab run --from-symbol": "tests/guest/test_bounds.py, with its figures",
    "cxlab run --membind cxl -- ./program": "job 1 of tests/newcomer, with another program",
    "cxlab run --until": "tests/guest/test_bounds.py, with its figures",
    "cxlab sweep lanes.toml --on slurm": "needs a cluster: tests/sweep/test_slurm.py",
    "cxlab validate": "takes minutes: `make golden` and tests/bench",
    "cxlab workload run": "takes minutes: tests/workloads/test_tiny.py, at the least size",
}
#: Files of the reader's.
PROGRAMS = {
    "run-your-program": ("program", "long-program"),
    "place-pages": ("program",),
    "why-slow": ("program",),
}
TOML = {"sweep": "lanes.toml", "new-machine": "mine.toml"}


def commands(page: Path) -> list[str]:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for language, block in blocks if language in ("", "sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("cxlab ")]


def elsewhere(line: str) -> str | None:
    return next((beginning for beginning in ELSEWHERE if line.startswith(beginning)), None)


def prepare(page: Path, folder: Path) -> None:
    for name in PROGRAMS.get(page.stem, ()):
        source = ROOT / "tests" / "programs" / "begin.c"
        subprocess.run(["gcc", f"-I{artefacts.INCLUDE}", "-O2", "-o", folder / name, source], check=True)
    if page.stem == "run-your-program":
        (folder / "database").mkdir()
    if page.stem in TOML:
        [text, *_] = re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
        (folder / TOML[page.stem]).write_text(text)
    if page.stem == "checkpoint":
        (folder / "examples").symlink_to(ROOT / "examples")
    if page.stem == "measure":
        # What the calibration of the page leaves.
        (folder / "mine.toml").write_text('description = "fitted"\nbased_on = "spr-a1000"\n')


def cache_without_checkpoints(folder: Path) -> Path:
    """All of the user's cache but for checkpoints: a page makes its own, by a name that is free."""
    own = folder / "cache"
    (own / "cxlab").mkdir(parents=True)
    for entry in cache.folder().iterdir():
        if entry.name != CHECKPOINTS:
            (own / "cxlab" / entry.name).symlink_to(entry)
    return own


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_end_well(page: str, tmp_path: Path) -> None:
    prepare(DOCS / page, tmp_path)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    own_cache = cache_without_checkpoints(tmp_path)
    for line in commands(DOCS / page):
        if elsewhere(line):
            continue
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            # A page passes this one on.
            env={
                **os.environ,
                "PATH": path,
                "XDG_CACHE_HOME": str(own_cache),
                "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "/usr/lib"),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"`{line}`: {done.stdout}{done.stderr}"
        written = re.findall(r"(?:--json|--plot|--html|--keep|--record|-o|>) (\S+)", line)
        absent = [name for name in written if not (tmp_path / name).exists()]
        assert not absent, f"`{line}` left no {absent}"


def test_what_runs_elsewhere_is_in_a_page() -> None:
    lines = [line for page in PAGES for line in commands(DOCS / page)]
    assert {elsewhere(line) for line in lines} - {None} == set(ELSEWHERE)
    named = {name for why in ELSEWHERE.values() for name in re.findall(r"(?:tests|scripts)/[\w/.]+", why)}
    assert not [name for name in named if not (ROOT / name).exists()]
