"""How ``make model-speed SPEED=--check`` judges; `.ci/weekly` runs it, and replays are held to it here."""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SPEED: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "model_speed.py"))


def test_what_has_grown_is_named_with_both_figures() -> None:
    grown = SPEED["grown"]
    assert grown({"ddr": 1000.0}, {"ddr": 1030.0}) == []
    (said,) = grown({"ddr": 1000.0, "cxl": 500.0}, {"ddr": 1031.0, "cxl": 400.0})
    assert "ddr: 1,031 instructions each, 1,000 were recorded (+3.1%" in said


@pytest.mark.parametrize("trace", SPEED["REPLAYED"])
def test_a_replay_costs_its_host_no_more_instructions_than_were_recorded(
    trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("instructions are counted by valgrind: sudo apt-get install valgrind")
    monkeypatch.chdir(ROOT)
    recorded = json.loads(SPEED["RECORDED"].read_bytes())
    if recorded["compiler"] != SPEED["compiler"]():
        pytest.skip(f"another compiler makes other instructions; recorded: {recorded['compiler']}")
    name = f"{trace}, replayed"
    dearer = SPEED["grown"]({name: recorded["each"][name]}, {name: SPEED["replayed"](trace)})
    assert not dearer, dearer
