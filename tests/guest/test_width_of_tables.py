"""Tables of a run fit 80 columns. Commands without a guest: tests/python/test_tables.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cxlab.report import of_run

WIDTH = 80
#: What the summary calls the bytes of a series.
BYTES = {"read": "read_bytes", "written": "write_bytes"}


def cxlab(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cxlab", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": str(WIDTH)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `out/dram` and `out/cxl`, and what `cxlab compare` printed."""
    folder = tmp_path_factory.mktemp("compared")
    done = cxlab(folder, "compare", "--out", "out", "--profile", "--", "sha256sum", "/bin/true")
    assert done.returncode == 0, done.stderr
    (folder / "compared.txt").write_text(done.stdout)
    return folder


def too_long(said: str) -> list[str]:
    """Lines that a terminal would break. Nobody could use half of a path, so that may be longer."""
    return [line for line in said.splitlines() if len(line) > WIDTH and len(line.split()) > 1]


def test_a_comparison_fits_80_columns(compared: Path) -> None:
    said = (compared / "compared.txt").read_text()
    assert "times the first" in said and too_long(said) == []


@pytest.mark.parametrize(
    "arguments",
    [
        "show out/cxl",
        "show --stats out/cxl",
        "diff out/dram out/cxl",
        "top out/cxl",
        "top --node dram out/dram",
    ],
)
def test_what_is_read_of_a_run_fits_80_columns(compared: Path, arguments: str) -> None:
    done = cxlab(compared, *arguments.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() and too_long(done.stdout) == []
    assert "\N{HORIZONTAL ELLIPSIS}" not in done.stdout


def test_the_page_of_a_run_has_the_bytes_that_the_run_moved(compared: Path) -> None:
    found = of_run.report(compared / "out" / "dram")
    [chart] = [part for part in found.parts if getattr(part, "title", "") == "Bandwidth over time"]
    nodes = json.loads((compared / "out" / "dram" / "summary.json").read_bytes())["nodes"]
    for trace in chart.traces:
        node, _, what = trace["name"].partition(", ")
        # GB/s over ms: each is 10^6 B.
        spans = [now - before for before, now in zip([0.0, *trace["x"]], trace["x"], strict=False)]
        moved = sum(rate * span * 1e6 for rate, span in zip(trace["y"], spans, strict=True))
        assert min(trace["y"]) >= 0
        # The last interval of a run is not whole, and has no row.
        assert moved == pytest.approx(nodes[node][BYTES[what]], rel=0.02, abs=1e4)
