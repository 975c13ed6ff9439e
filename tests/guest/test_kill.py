"""A few tries of `make kill-test`; the draw is the same each time, so is what is tried."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "kill_test"
KILL_TEST: dict[str, Any] = runpy.run_path(str(SCRIPT))


def test_a_try_is_the_same_whatever_the_count() -> None:
    modes = KILL_TEST["MODES"]
    few, many = (list(KILL_TEST["tries"](1, count, modes)) for count in (5, 50))
    assert many[:5] == few
    assert {what.mode for what in many} == {mode.name for mode in modes}
    assert {what.signal for what in many} == set(KILL_TEST["EVENTS"])


@pytest.mark.once_a_week
def test_signals_leave_whole_results_or_none_and_the_journal_is_gone_on_with(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    command = [sys.executable, str(SCRIPT), "--mode", "run", "--count", "3", "--journal", str(journal)]
    # The second time there is nothing left to try.
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        verdicts = [json.loads(line)["verdict"] for line in journal.read_text().splitlines()]
        assert [verdict["found"] for verdict in verdicts] == [[], [], []]
