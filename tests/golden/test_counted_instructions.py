"""How ``make model-speed SPEED=--check`` judges; `.ci/weekly` runs it."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SPEED: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "model_speed.py"))


def test_what_has_grown_is_named_with_both_figures() -> None:
    grown = SPEED["grown"]
    assert grown({"ddr": 1000.0}, {"ddr": 1030.0}) == []
    (said,) = grown({"ddr": 1000.0, "cxl": 500.0}, {"ddr": 1031.0, "cxl": 400.0})
    assert "ddr: 1,031 instructions each, 1,000 were recorded (+3.1%" in said
