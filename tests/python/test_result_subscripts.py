"""The scan for string literals finds results that are read by them, and leaves everything else alone."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.loaded import loaded

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
BORDER = """
class Point(Struct, frozen=True):
    latency_ns: float
    delay: int
    name: str

class Job(TypedDict):
    delay: int
"""


@pytest.fixture(scope="module")
def scan() -> ModuleType:
    return loaded(SCRIPTS / "result_subscripts.py")


def faults(scan: ModuleType, root: Path, file: str, text: str) -> list[str]:
    """Faults of one file of a repository."""
    for path, content in ((scan.BORDER, BORDER), (file, text)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return [fault for fault in scan.faults(root) if fault.startswith(file)]


@pytest.mark.parametrize("folder", ["python/cxlab", "experiments/papers", "scripts", "workloads/mine"])
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('misses = port.cxl["device_cache"]["misses"]', "port.cxl"),
        ('points = document["points"]', "document"),
        ('read = series[f"{node}_read_bytes"]', "series"),
        # A field of a result, however it is asked for.
        ('latency = point.get("latency_ns", 0.0)', "point"),
        ('point["latency_ns"] = 1.0', "point"),
        ('del point["latency_ns"]', "point"),
    ],
)
def test_a_result_that_is_read_by_a_literal_is_a_fault(
    scan: ModuleType, tmp_path: Path, folder: str, line: str, name: str
) -> None:
    found = faults(scan, tmp_path, f"{folder}/mine.py", line)
    assert any(f"`{name}` by a string literal" in fault for fault in found)


def test_a_cell_of_a_notebook_is_read_too(scan: ModuleType, tmp_path: Path) -> None:
    cells = '{"cells": [{"cell_type": "markdown", "source": ["point["]}, '
    cells += '{"cell_type": "code", "source": ["a = 1\\n", "point[\'latency_ns\']"]}]}'
    (fault,) = faults(scan, tmp_path, "examples/mine.ipynb", cells)
    assert "`point` by a string literal" in fault


def test_a_typed_result_and_a_key_that_is_written_are_no_fault(scan: ModuleType, tmp_path: Path) -> None:
    lines = (
        "misses = expander.device_cache.misses",
        # A field that jobs have too, a word of everyday, and a name that is no literal.
        'job["delay"] = seeds[0]',
        'name = table.get("name")',
        "share = found[PROMOTED]",
    )
    assert faults(scan, tmp_path, "python/cxlab/mine.py", "\n".join(lines)) == []


@pytest.mark.parametrize("line", ['tree = document.get("a")["spec"]', "cores = machine.spec[key]"])
def test_one_module_reads_the_description_of_a_machine(scan: ModuleType, tmp_path: Path, line: str) -> None:
    elsewhere = faults(scan, tmp_path, "experiments/mine.py", line)
    assert any(f"only {scan.DESCRIPTION} reads a description" in fault for fault in elsewhere)
    there = faults(scan, tmp_path, scan.DESCRIPTION, line)
    assert not any("reads a description" in fault for fault in there)


def test_a_row_of_the_scan_that_allows_nothing_is_a_fault(scan: ModuleType, tmp_path: Path) -> None:
    faults(scan, tmp_path, "python/cxlab/mine.py", "")
    row = "python/cxlab/plan/quantity.py does not read `match`"
    assert any(row in fault for fault in scan.faults(tmp_path))


def test_the_fields_of_results_are_those_of_the_model(scan: ModuleType) -> None:
    border = (SCRIPTS.parent / scan.BORDER).read_text()
    assert {"latency_ns", "simulated_seconds", "work_per_second"} <= scan.fields_of_results(border)
