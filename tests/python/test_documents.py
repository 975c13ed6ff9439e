"""Documents name only what is there: commands that click takes, targets of make, files of the repository."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
from cxlab.cli import cli

ROOT = Path(__file__).resolve().parents[2]
FILES = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT, capture_output=True, text=True, check=True,
).stdout.splitlines()  # fmt: skip
DOCUMENTS = [file for file in FILES if file.endswith(".md")]
#: Commands of a newcomer; what they print is tested in tests/newcomer.
JOBS = [file for file in FILES if file.startswith("tests/newcomer/jobs/")]
MOST_LINES = 120


def commands(text: str) -> list[str]:
    """Lines of code blocks, and code within lines, that begin with `cxlab` and a command."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```\w*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    return [line.strip() for line in (*lines, *inline) if re.match(r"cxlab [a-z]", line.strip())]


def parse(line: str) -> None:
    """Click takes the line. A file that is not there is no fault of the document."""
    arguments = shlex.split(re.split(r" > |  +#", line)[0])[1:]
    command: click.Command = cli
    context = cli.make_context("cxlab", [], resilient_parsing=True)
    while isinstance(command, click.Group) and arguments:
        name = arguments.pop(0)
        if name == "...":
            return
        found = command.get_command(context, name)
        assert found is not None, f"`{line}`: there is no command {name}"
        command, context = found, click.Context(found, info_name=name, parent=context)
    if not arguments or isinstance(command, click.Group) or "--help" in arguments or "--example" in arguments:
        return
    try:
        command.make_context(command.name, list(arguments), context.parent)
    except click.MissingParameter:
        pass  # A sentence may name a command with one of its options.
    except click.BadOptionUsage as error:
        assert error.option_name == arguments[-1], f"`{line}`: {error.message}"
    except click.BadParameter as error:
        absent = ("does not exist", "there is no folder")
        assert any(words in error.message for words in absent), f"`{line}`: {error.message}"


@pytest.mark.parametrize("document", [*DOCUMENTS, *JOBS])
def test_every_command_of_a_document_is_one(document: str) -> None:
    text = (ROOT / document).read_text()
    found = text.splitlines()[1:] if document in JOBS else commands(text)
    for line in found:
        try:
            parse(line)
        except click.UsageError as error:
            pytest.fail(f"`{line}`: {error.format_message()}")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_target_of_make_is_one(document: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:`|^)make ([a-z-]+)", (ROOT / document).read_text(), re.MULTILINE)
    assert set(named) <= targets


@pytest.mark.parametrize(
    "document", [d for d in DOCUMENTS if d == "ARCHITECTURE.md" or d.startswith("docs/")]
)
def test_every_source_file_that_a_document_names_is_there(document: str) -> None:
    named = re.findall(r"`([\w./-]+\.(?:rs|py|h|ipynb))`", (ROOT / document).read_text())
    absent = [name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in FILES)]
    assert not absent


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= MOST_LINES
