"""DEVIATIONS.md: each row names a test that exists, or says why there is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| ([A-Z]{3}-\d+) .*\| (.*) \|$", re.MULTILINE)
ROWS = dict(ROW.findall((ROOT / "DEVIATIONS.md").read_text()))
#: A figure of validation/points.toml, such as M23-047.
FIGURE = re.compile(r"^(?:M23|DMS|[A-Z]+\d*)-\d{3}$")


def texts(pattern: str) -> dict[Path, str]:
    return {path: path.read_text() for path in sorted(ROOT.glob(pattern))}


RUST = "\n".join(texts("crates/*/tests/**/*.rs").values())
PYTHON = {path: text for path, text in texts("tests/**/test_*.py").items() if path != Path(__file__)}


def has_test(name: str) -> bool:
    """Whether a test function has this name, or one that begins so where the row ends it with dots."""
    ending = r"\w+\(" if name.endswith("...") else r"\("
    definition = re.compile(r"\b(?:fn|def) " + name.removesuffix("...") + ending)
    return any(definition.search(text) for text in (RUST, *PYTHON.values()))


def faults(row: str, says: str) -> list[str]:
    """Faults of the last column of a row."""
    if says.startswith("none"):
        given = re.fullmatch(r"none: .{3,}", says)
        return [] if given else [f"{row} has no test and no reason: write `none: REASON`"]
    names = re.findall(r"`([^`]+)`", says)
    found = []
    for name in names:
        if "/" in name:
            exists = (ROOT / name).exists()
        elif FIGURE.match(name):
            exists = f'"{name}"' in PYTHON[ROOT / "tests/bench/test_misses.py"]
        else:
            exists = has_test(name) or any(name in text for text in PYTHON.values())
        if not exists:
            found.append(f"{row} names {name}, which does not exist")
    return found if names else [f"{row} names no test: {says!r}"]


@pytest.mark.parametrize("row", ROWS)
def test_the_test_of_a_row_exists(row: str) -> None:
    assert faults(row, ROWS[row]) == []


def test_every_row_is_read() -> None:
    rows = re.findall(r"^\| [A-Z]{3}-\d+ ", (ROOT / "DEVIATIONS.md").read_text(), re.MULTILINE)
    assert len(rows) == len(ROWS) > 50


@pytest.mark.parametrize(
    "says", ["none", "none yet", "a test", "`test_of_nobody`", "`M23-999`", "`no/file.rs`"]
)
def test_what_is_missing_is_found(says: str) -> None:
    assert len(faults("XXX-1", says)) == 1
