"""Flushes and non-temporal stores of a program in the guest: what they move is counted, line by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from guests import Cxlab

LINES = 16_384
LINE_BYTES = 64
#: Beside the program's own lines: what the kernel touches on the node between the markers. That was 154 with
#: a tick's work there, 205 with work that it had put off [lines].
STRAY = LINES // 50


def ran(folder: Path, programs: Path, what: str) -> tuple[float, dict[str, Any]]:
    """The number that the program printed, and the summary of its memory's node."""
    command = (str(programs / "past_the_caches"), what, str(LINES))
    done = Cxlab(folder, "marker").run(*command, options=["--membind", "cxl", "--no-prefetch"])
    assert done.status == 0, done.stderr
    return float(done.stdout), done.summary["nodes"]["cxl"]


def lines(count: float) -> Any:
    return pytest.approx(count * LINE_BYTES, abs=STRAY * LINE_BYTES)


def test_flushed_lines_are_written_and_read_again(programs: Path, tmp_path: Path) -> None:
    ns, node = ran(tmp_path, programs, "flush")
    # Read to be owned, written by the flush, read again by the loads.
    assert (node["read_bytes"], node["write_bytes"]) == (lines(2 * LINES), lines(LINES))
    # CXL-DMSim, figure 10: 284 ns; between two clock reads there is a fence and little more.
    assert ns == pytest.approx(284.0, rel=0.05)


def test_a_streamed_line_is_written_and_read_only_where_it_is_a_part(programs: Path, tmp_path: Path) -> None:
    _, node = ran(tmp_path, programs, "stream")
    assert (node["read_bytes"], node["write_bytes"]) == (lines(LINES / 2), lines(LINES))
