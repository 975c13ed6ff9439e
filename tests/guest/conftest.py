"""A command and its processes, for every test here."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cxlab.run.guest import artefacts
from guests import STARTED, Cxlab

SOURCES = Path(__file__).parent.parent / "programs"
EXAMPLES = Path(__file__).parent.parent.parent / "examples"
FLAGS = [f"-I{artefacts.INCLUDE}", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]


@pytest.fixture
def cxlab(tmp_path: Path) -> Cxlab:
    return Cxlab(tmp_path)


@pytest.fixture(autouse=True)
def nothing_runs_on() -> Iterator[None]:
    """A test that fails leaves no endless guest behind, which would slow all later ones."""
    yield
    while STARTED:
        run = STARTED.pop()
        if run.poll() is None:
            run.kill()
            run.wait()


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiled programs of tests/programs."""
    folder = tmp_path_factory.mktemp("programs")
    for source in SOURCES.glob("*.c"):
        subprocess.run(["gcc", *FLAGS, "-o", folder / source.stem, source], check=True)
    return folder


@pytest.fixture(scope="session")
def dax_heap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of a heap in memory that the application manages."""
    program = tmp_path_factory.mktemp("examples") / "dax_heap"
    command = ["gcc", *FLAGS, "-o", program, EXAMPLES / "dax_heap.c", "-lmimalloc"]
    subprocess.run(command, check=True)
    return program


@pytest.fixture(scope="session")
def hybrid_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of a key-value store with its records in CXL memory."""
    program = tmp_path_factory.mktemp("examples") / "hybrid_store"
    subprocess.run(["gcc", *FLAGS, "-o", program, EXAMPLES / "hybrid_store.c"], check=True)
    return program


@pytest.fixture
def children() -> Iterator[Callable[[int], set[int]]]:
    """Processes below a process, found by their parents; QEMU's is one of them."""

    def below(root: int) -> set[int]:
        parents = {}
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                try:
                    stat = Path(entry.path, "stat").read_text()
                except OSError:
                    continue
                parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
        found: set[int] = set()
        while more := {pid for pid, parent in parents.items() if parent in {root, *found}} - found:
            found |= more
        return found

    yield below
