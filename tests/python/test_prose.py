"""The checker of prose finds long sentences and inverted openings, and leaves code and questions alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_prose.py"
LONG = " ".join(["word"] * 26) + "."
SHORT = " ".join(["word"] * 25) + "."


@pytest.fixture(scope="module")
def checker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_prose", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("markdown", "line"),
    [
        (LONG, 1),
        (f"# A heading\n\nShort. {LONG}\n", 3),
        (f"- item\n- {LONG}\n", 2),
        (f"| gap | consequence |\n|---|---|\n| short | {LONG} |\n", 3),
        (f"first\n\n{LONG[:40]}\n{LONG[40:]}\n", 3),
        ("The core waits. Who waits goes on.", 1),
        ("As above, with 48 entries.", 1),
    ],
)
def test_a_fault_of_a_document_is_found_at_its_line(checker: ModuleType, markdown: str, line: int) -> None:
    (fault,) = checker.faults_of("a.md", markdown)
    assert fault.startswith(f"a.md:{line}: ")


@pytest.mark.parametrize(
    "markdown",
    [
        SHORT,
        f"{SHORT} {SHORT}",
        f"**{SHORT}** {SHORT}",
        f"```\n{LONG}\n```\n",
        f"A command (`{LONG}`) is one word.",
        f"See [a page]({LONG.replace(' ', '/')}).",
        f"# {LONG}\n",
        f"- {SHORT[:-1]}\n- {SHORT[:-1]}\n",
        "Who pays? The buyer pays.",
    ],
)
def test_what_is_no_fault_is_not_found(checker: ModuleType, markdown: str) -> None:
    assert checker.faults_of("a.md", markdown) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("python/cxlab/a.py", 'def f():\n    """Of each node, the bytes."""\n'),
        ("python/cxlab/a.py", '"""The same with a folder."""\n'),
        ("crates/kernel/src/a.rs", "//! Of a core, what it waits for.\n"),
        ("crates/kernel/src/a.rs", "/// Who waits for a credit.\nfn first() {}\n"),
    ],
)
def test_a_summary_that_says_nothing_is_a_fault(checker: ModuleType, path: str, source: str) -> None:
    (fault,) = checker.faults_of(path, source)
    assert "a summary line says what the thing is or does" in fault


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("python/cxlab/a.py", 'def f():\n    """Count bytes.\n\n    Of each node.\n    """\n'),
        ("crates/kernel/src/a.rs", "/// Counts bytes.\n/// Of each node.\nfn first() {}\n"),
        ("crates/kernel/src/a.rs", "    /// of each node [bytes]\n    pub bytes: u64,\n"),
    ],
)
def test_only_summary_lines_are_judged(checker: ModuleType, path: str, source: str) -> None:
    assert checker.faults_of(path, source) == []


def test_every_place_that_is_left_for_later_is_there(checker: ModuleType) -> None:
    assert all((SCRIPT.parents[1] / place).exists() for place in checker.LATER)
