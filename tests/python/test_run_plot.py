"""``--plot``: what is drawn over time is each interval's own rate."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
from cxlab.run.errors import BadRequest
from cxlab.run.options import plot as option
from cxlab.run.results import plot

#: Two intervals of 10 us and 30 us.
SERIES = {
    "time_s": [10e-6, 40e-6],
    "instructions": [20_000, 0],
    "busy_ns": [10_000, 0],
    "cxl_loads": [10, 0],
    "cxl_load_ns": [2_840, 0],
    "cxl_read_bytes": [640, 3_000],
    "cxl_write_bytes": [0, 0],
}


def test_intervals_have_their_lengths_and_rates() -> None:
    assert plot.lengths(SERIES["time_s"]) == pytest.approx([10e-6, 30e-6])
    assert plot.ratios(SERIES["cxl_load_ns"], SERIES["cxl_loads"])[0] == 284.0
    assert math.isnan(plot.ratios([1.0], [0.0])[0])


@pytest.mark.parametrize("ending", option.ENDINGS)
def test_a_figure_is_drawn(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"run{ending}"
    plot.over_time(file, "8468v-asic", SERIES, ["cxl"], 3.8)
    assert file.stat().st_size > 5_000


def test_another_ending_is_refused_before_the_run() -> None:
    with pytest.raises(BadRequest, match=r"ends in `.txt`; valid: .png, .svg, .pdf"):
        option.check(Path("run.txt"))


def test_a_run_that_draws_nothing_reads_nothing_to_draw_with() -> None:
    """matplotlib takes half a second to import."""
    look = "import sys, cxlab.cli.session; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", look], check=True)
