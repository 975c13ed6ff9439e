"""Instructions are counted as they are executed, and markers narrow what is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from guests import Cxlab

#: tests/programs/loop.c
ROUNDS, EACH = 2_000_000, 4


def test_a_loop_of_known_length_between_markers(programs: Path, tmp_path: Path) -> None:
    ran = Cxlab(tmp_path, "marker").run(str(programs / "loop"), str(ROUNDS))
    assert (ran.status, ran.stdout) == (0, b"done\n")
    assert ran.summary["instructions"]["user"] == pytest.approx(ROUNDS * EACH, rel=1e-3)


def test_without_narrowing_the_whole_program_counts(programs: Path, tmp_path: Path) -> None:
    ran = Cxlab(tmp_path, "all").run(str(programs / "loop"), str(ROUNDS))
    beyond = ran.summary["instructions"]["user"] - ROUNDS * EACH
    # The loader and the C library: some 10^5 (`perf stat` of an empty program).
    assert 20_000 < beyond < 1_000_000


def test_a_program_without_markers_is_told_so(tmp_path: Path) -> None:
    ran = Cxlab(tmp_path, "marker").run("true")
    assert ran.status == 0
    assert "cxlab: true executed no marker that begins a region: nothing was timed" in ran.stderr
    assert ran.summary["simulated_seconds"] == 0
