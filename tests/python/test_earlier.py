"""A run of the same program before this one tells how many instructions it will have."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cxlab.border import Instructions
from cxlab.run.results import earlier

GOLDEN = Path(__file__).parents[1] / "golden" / "expected"
ASKED: dict[str, Any] = {
    "program": {"argv": ["sort", "words"], "cwd": "/home/user"},
    "program_file": {"path": "/usr/bin/sort", "bytes": 1000, "sha256": "00"},
    "input_files": [{"path": "/home/user/words", "bytes": 10, "sha256": "01"}],
    "placement": "all on dram",
    "cpus": 1,
    "detail": "all",
    "sample": None,
    "until_ms": None,
    "until_idle_ms": None,
    "from_output": None,
    "to_output": None,
    "environment": {"LANG": "C.UTF-8"},
}


@pytest.fixture
def results() -> dict[str, Any]:
    """A model's results, as a golden replay left them."""
    return json.loads((GOLDEN / "qsort.json").read_bytes())


def write(folder: Path, asked: dict[str, Any], summary: dict[str, Any] | None, age: int = 0) -> None:
    folder.mkdir(parents=True)
    config = folder / "config.json"
    config.write_text(json.dumps(asked))
    os.utime(config, (1e9 - age, 1e9 - age))
    if summary is not None:
        (folder / "summary.json").write_text(json.dumps(summary))


def test_the_newest_complete_run_of_the_same_program_counts(tmp_path: Path, results: dict[str, Any]) -> None:
    def with_instructions(user: int, *, complete: bool = True) -> dict[str, Any]:
        return results | {"complete": complete, "instructions": {"user": user, "kernel": 0}}

    write(tmp_path / "this", ASKED, None)
    assert earlier.run(tmp_path / "this") is None
    write(tmp_path / "older", ASKED, with_instructions(1), age=30)
    # Elsewhere in memory, on another machine and sampled it is the same program.
    write(
        tmp_path / "newer",
        ASKED | {"placement": "all on cxl", "sample": "auto"},
        with_instructions(2),
        age=20,
    )
    write(tmp_path / "cut", ASKED, with_instructions(3, complete=False), age=10)
    write(tmp_path / "running", ASKED, None, age=5)
    found = earlier.run(tmp_path / "this")
    assert found is not None and found.instructions == Instructions(2, 0)


@pytest.mark.parametrize(
    "other",
    [
        {"program": {"argv": ["sort", "others"], "cwd": "/home/user"}},
        {"program_file": {"path": "/usr/bin/sort", "bytes": 1000, "sha256": "02"}},
        {"input_files": []},
        {"cpus": 2},
        {"detail": "marker"},
        {"until_ms": 3.0},
        {"from_output": "ready"},
        {"checkpoint": "loaded"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_another_program_or_a_part_of_it_tells_nothing(
    tmp_path: Path, results: dict[str, Any], other: dict[str, Any]
) -> None:
    write(tmp_path / "this", ASKED, None)
    write(tmp_path / "other", ASKED | other, results | {"complete": True})
    assert earlier.run(tmp_path / "this") is None


def test_what_is_no_run_is_passed_over(tmp_path: Path, results: dict[str, Any]) -> None:
    write(tmp_path / "this", ASKED, None)
    write(tmp_path / "broken", ASKED, None)
    (tmp_path / "broken" / "summary.json").write_text("{")
    write(tmp_path / "list", ASKED, None)
    (tmp_path / "list" / "config.json").write_text("[]")
    assert earlier.run(tmp_path / "this") is None
    write(tmp_path / "good", ASKED, results | {"complete": True}, age=60)
    assert earlier.run(tmp_path / "this") is not None
