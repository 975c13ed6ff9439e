"""A live run with ``--check`` says what was checked, in its summary and on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from guests import Cxlab


@pytest.mark.parametrize("cpus", [1, 2])
def test_a_live_run_is_checked(programs: Path, tmp_path: Path, cpus: int) -> None:
    options = ["--check", "--membind", "cxl", "--cpus", str(cpus)]
    ran = Cxlab(tmp_path, "marker").run(str(programs / "triad"), "16384", options=options)
    assert ran.status == 0, ran.stderr
    checked = ran.summary["checked"]
    assert "0 violations" in " ".join(ran.stderr.split())
    # Each line that the program read from CXL memory is a request and an answer.
    assert checked["cxl_messages"] >= 2 * ran.summary["nodes"]["cxl"]["loads"] > 0
    assert checked["translations"] >= ran.summary["nodes"]["cxl"]["loads"]
    assert (checked["coherence_transitions"] > 0) == (cpus > 1)


def test_a_run_without_checks_says_nothing_of_them(programs: Path, tmp_path: Path) -> None:
    ran = Cxlab(tmp_path, "marker").run(str(programs / "triad"), "16384", options=["--membind", "cxl"])
    assert "checked" not in ran.summary
    assert "violations" not in ran.stderr
