"""``--check``: results stay the same, and what was checked is said.

Each rule is broken in crates/model/tests/checks.rs and in crates/model/src/machine/checks/tests.rs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cxlab import model
from cxlab.border import Checked
from cxlab.cli import checked

TRACES = Path(__file__).parent / "traces"
BENCH = ("bench", "bandwidth", "--machine", "spr-a1000", "--node", "cxl", "--threads", "2")


def cxlab(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cxlab", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def document(folder: Path, *arguments: str) -> dict[str, Any]:
    file = folder / "results.json"
    done = cxlab(*arguments, "--json", str(file))
    assert done.returncode == 0, done.stderr
    read: dict[str, Any] = json.loads(file.read_bytes())
    return read


@pytest.mark.parametrize("name", ["device", "lock4", "sampled"])
def test_a_replay_with_checks_has_the_same_results(name: str, tmp_path: Path) -> None:
    trace = str(TRACES / f"{name}.trace")
    without = document(tmp_path, "replay", trace)
    with_checks = document(tmp_path, "replay", trace, "--check")
    counts = with_checks.pop("checked")
    assert "checked" not in without
    assert without == with_checks
    # Each line of a CXL node is a request and an answer over a link, or over two behind a switch.
    cxl = [node for name, node in without["nodes"].items() if "cxl" in name]
    lines = sum(node["read_bytes"] + node["write_bytes"] for node in cxl) // 64
    assert counts["cxl_messages"] >= 2 * lines > 0 or name == "sampled"
    assert counts["dram_commands"] > 0
    assert counts["translations"] > 0
    # One core has no snoop filter.
    assert (counts["coherence_transitions"] > 0) == (name == "lock4")


def test_the_summary_of_a_replay_says_what_was_checked() -> None:
    done = cxlab("replay", str(TRACES / "device.trace"), "--check")
    said = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert " checked " in said
    assert "DRAM commands" in said
    assert "0 violations; there were no flash operations" in said


def test_a_bench_with_checks_has_the_same_points(tmp_path: Path) -> None:
    without, with_checks = document(tmp_path, *BENCH), document(tmp_path, *BENCH, "--check")
    (point,) = with_checks["points"]
    assert point.pop("checked")["cxl_credits"] > 0
    assert without == with_checks
    assert "checked: " in cxlab(*BENCH, "--check").stdout


def test_this_host_is_not_checked() -> None:
    done = cxlab("bench", "latency", "--host", "--check")
    assert done.returncode != 0
    assert "--check: checks the simulator" in " ".join(done.stderr.split())


def test_counts_of_points_are_added_up() -> None:
    one = Checked(1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert model.document(checked.total([one, one])) == {
        name: 2 * count for name, count in model.document(one).items()
    }
    assert set(checked.WORDS) == set(model.document(one))


def test_a_broken_rule_has_a_code_and_says_what_to_do() -> None:
    (text,) = [text for code, text in model.errors() if code == "RUN008"]
    assert "cxlab report-bug" in text
    for part in ("{rule}", "{place}", "{at}", "{what}"):
        assert part in text
