"""Simulated results are what they were, bit for bit: replayed traces and bench points (scripts/golden.py)."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

GOLDEN: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "golden.py"))


@pytest.mark.parametrize("case", GOLDEN["QUICK"], ids=lambda case: str(case.name))
def test_no_figure_has_moved(case: Any) -> None:
    expected = json.loads(GOLDEN["expected_file"](case).read_bytes())
    assert list(GOLDEN["differences"](expected, GOLDEN["run"](case, jail="auto"))) == []


def test_a_figure_that_moves_or_goes_is_named() -> None:
    differences = GOLDEN["differences"]
    was = {"nodes": {"cxl": {"loads": 7, "rows": [1.5, 2.5]}}}
    assert list(differences(was, {"nodes": {"cxl": {"loads": 7, "rows": [1.5, 2.5]}}, "new": 1})) == []
    (moved,) = differences(was, {"nodes": {"cxl": {"loads": 7, "rows": [1.5, 2.6]}}})
    assert ".nodes.cxl.rows[1]" in moved
    (gone,) = differences(was, {"nodes": {"cxl": {"rows": [1.5, 2.5]}}})
    assert gone == ".nodes.cxl.loads is gone"
