"""The checker of prose finds long sentences and inverted openings, and leaves code and questions alone."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.loaded import loaded

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_prose.py"
LONG = " ".join(["word"] * 26) + "."
SHORT = " ".join(["word"] * 25) + "."


@pytest.fixture(scope="module")
def checker() -> ModuleType:
    return loaded(SCRIPT)


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
        ("python/cxlab/a.py", 'def f():\n    """What a run has counted."""\n'),
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
        ("python/cxlab/a.py", 'def f():\n    """What does it cost?"""\n'),
        ("python/cxlab/a.py", "# What a run has counted.\nfirst = 1\n"),
        ("crates/kernel/src/a.rs", "/// Counts bytes.\n/// Of each node.\nfn first() {}\n"),
        ("crates/kernel/src/a.rs", "    /// of each node [bytes]\n    pub bytes: u64,\n"),
    ],
)
def test_only_summary_lines_are_judged(checker: ModuleType, path: str, source: str) -> None:
    assert checker.faults_of(path, source) == []


@pytest.mark.parametrize(
    ("path", "source", "line"),
    [
        ("python/cxlab/a.py", f'"""Short.\n\n{LONG}\n"""\n', 3),
        ("python/cxlab/a.py", f'async def f():\n    """Short.\n\n    {LONG}\n    """\n', 4),
        ("python/cxlab/a.py", f'class A:\n    """{LONG}"""\n', 2),
        ("python/cxlab/a.py", f'"""Commands.\n\nrun        short\nshow       {LONG}\n"""\n', 4),
        ("crates/kernel/src/a.rs", f"//! Short.\n//!\n//! {LONG[:40]}\n//! {LONG[40:]}\n", 3),
        ("crates/kernel/src/a.rs", f"//! Short.\n\n/// Short.\n/// {LONG}\nfn first() {{}}\n", 3),
        ("crates/kernel/src/a.rs", f"    /// {LONG}\n    pub bytes: u64,\n", 1),
        ("crates/kernel/src/a.rs", f"// {LONG}\nfn first() {{}}\n", 1),
        ("crates/kernel/src/a.rs", f"fn first() {{\n    // {LONG[:40]}\n    // {LONG[40:]}\n}}\n", 2),
        ("crates/kernel/src/a.rs", f"/// Short.\nfirst: u64,\n// {LONG}\nsecond: u64,\n", 3),
        ("python/cxlab/a.py", f"first = 1\n# {LONG[:40]}\n# {LONG[40:]}\n", 2),
        ("python/cxlab/a.py", f"first = 1\n#: {LONG}\nsecond = 2\n", 2),
        ("python/cxlab/a.py", f"first = 1  # {LONG}\n", 1),
        ("data/a.toml", f"first = 1\n# {LONG[:40]}\n# {LONG[40:]}\n", 2),
        ("Makefile", f"first: ## {LONG}\n\n# {LONG}\n", 3),
    ],
)
def test_a_long_sentence_of_a_comment_is_found_at_its_paragraph(
    checker: ModuleType, path: str, source: str, line: int
) -> None:
    (fault,) = checker.faults_of(path, source)
    assert fault.startswith(f"{path}:{line}: 26 words in a sentence, at most 25")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("python/cxlab/a.py", f'def f():\n    """{SHORT}\n\n    {SHORT}\n    """\n'),
        ("python/cxlab/a.py", f'def f():\n    """Short.\n\n        {LONG}\n    """\n'),
        ("python/cxlab/a.py", f'"""Short.\n\n    {LONG}\n"""\n'),
        ("python/cxlab/a.py", f'TEXT = """{LONG}"""\n'),
        ("python/cxlab/a.py", f'"""Commands.\n\nrun        {SHORT[:-1]}\nshow       {SHORT[:-1]}\n"""\n'),
        ("crates/kernel/src/a.rs", f"//! {SHORT}\n//! {SHORT}\n"),
        ("crates/kernel/src/a.rs", f"//! ```text\n//! {LONG}\n//! ```\n"),
        ("crates/kernel/src/a.rs", f"/// {SHORT[:-1]}\nfirst: u64,\n/// {SHORT[:-1]}\nsecond: u64,\n"),
        ("crates/kernel/src/a.rs", f"// {SHORT}\n// {SHORT}\nfn first() {{}}\n"),
        ("crates/kernel/src/a.rs", f"first(); // {SHORT[:-1]}\n// {SHORT[:-1]}\n"),
        ("crates/kernel/src/a.rs", f"// {SHORT[:-1]}\nfirst();\n// {SHORT[:-1]}\n"),
        ("crates/kernel/src/a.rs", f"//     {LONG}\n"),
        ("python/cxlab/a.py", f"# {SHORT[:-1]}\nfirst = 1\n# {SHORT[:-1]}\n"),
        ("python/cxlab/a.py", f"# {SHORT[:-1]}\nfirst = 1  # {SHORT[:-1]}\n"),
        ("python/cxlab/a.py", f"import a  # noqa: F401 {LONG}\n"),
        ("python/cxlab/a.py", f"# type: ignore {LONG}\n"),
        ("python/cxlab/a.py", f'TEXT = "# {LONG}"\n'),
        ("data/a.toml", f'# {SHORT}\nsource = "{LONG}"\n# {SHORT}\n'),
    ],
)
def test_comments_of_25_words_and_text_that_is_no_prose_are_left_alone(
    checker: ModuleType, path: str, source: str
) -> None:
    assert checker.faults_of(path, source) == []
