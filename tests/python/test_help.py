"""Help for people: sections, whole sentences, an example that parses, and what comes before a table."""

from __future__ import annotations

import importlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from cxlab.cli import SECTIONS, cli, sections
from cxlab.cli.completion import SHELLS, VARIABLE
from cxlab.output import table
from cxlab.run.options import table as options
from rich.console import Console

#: A line of help [characters].
WIDTH = 80
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def walk(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from walk(found, click.Context(found, info_name=name, parent=context))


CONTEXTS = list(walk(cli, cli.make_context("cxlab", [], resilient_parsing=True)))
each_command = pytest.mark.parametrize("context", CONTEXTS, ids=lambda context: context.command_path)


def examples(context: click.Context) -> list[str]:
    words = " ".join((context.command.help or "").split())
    return re.findall(r"Example[^:.]*: (cxlab [^`]*?)(?:\.(?: |$)|$)", words)


def parses(line: str) -> None:
    """Click takes the line, up to files that are not there."""
    arguments = shlex.split(line)[1:]
    command: click.Command = cli
    context = click.Context(cli, info_name="cxlab")
    while isinstance(command, click.Group):
        name = arguments.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"{line}: there is no command {name}"
        command, context = found, click.Context(found, info_name=name, parent=context)
    try:
        command.make_context(command.name, arguments, context.parent)
    except click.BadParameter as error:
        assert "does not exist" in error.message or "there is no folder" in error.message, (line, error)


def test_the_commands_stand_in_sections_and_no_line_is_cut() -> None:
    said = CliRunner().invoke(cli, ["-h"], terminal_width=WIDTH).output
    assert [f"{section}:" for section in SECTIONS] == [line for line in said.splitlines() if line in {
        f"{section}:" for section in SECTIONS}]  # fmt: skip
    cut = [line for line in said.splitlines()[1:] if line.endswith("...")]
    assert not cut


@each_command
def test_every_command_hears_h_and_every_option_has_words(context: click.Context) -> None:
    assert "-h" in context.help_option_names
    for parameter in context.command.get_params(context):
        if isinstance(parameter, click.Option):
            assert parameter.help and parameter.help[0].isupper(), parameter.opts
    for command in getattr(context.command, "commands", {}).values():
        assert not command.get_short_help_str(WIDTH - 20).endswith("..."), command.name


@each_command
def test_a_command_has_an_example_that_parses(context: click.Context) -> None:
    if context.parent is None:
        return
    found = examples(context)
    assert found, context.command_path
    for line in found:
        parses(line.partition(" > ")[0])


def test_a_manual_page_says_what_help_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    page = importlib.import_module("man_pages").page
    for context in CONTEXTS:
        said = page(context)
        assert said.startswith(".TH ") and ".SH SYNOPSIS" in said
        for parameter in context.command.get_params(context):
            if isinstance(parameter, click.Option):
                assert parameter.opts[0].replace("-", r"\-") in said
        # Roff takes a line that begins with a dot for a request.
        requests = {line.split()[0] for line in said.splitlines() if line.startswith((".", "'"))}
        assert requests <= {".TH", ".SH", ".PP", ".TP", ".B", ".BR"}, requests


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_has_a_script_for_each_shell(shell: str) -> None:
    said = CliRunner().invoke(cli, ["completion", shell])
    assert said.exit_code == 0 and VARIABLE in said.output


def test_a_shell_that_asks_is_told_the_commands_and_the_machines() -> None:
    def completed(words: str, number: int) -> list[str]:
        asked = {VARIABLE: "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
        code = "import sys; sys.argv[0] = 'cxlab'; from cxlab.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **asked},
            capture_output=True,
            text=True,
            check=False,
        )
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert completed("cxlab mach", 1) == ["machines"]
    assert "--env-pass" in completed("cxlab run --env", 2)
    assert completed("cxlab run --machine spr", 3) == ["spr-a1000"]


@pytest.mark.parametrize("width", [80, 200])
def test_a_table_cuts_no_cell(width: int) -> None:
    headings = ["name", *(f"column {number}" for number in range(12)), "source"]
    made = table(headings, title="Things", fold=1)
    cells = [f"{number}{number}.25 GB/s" for number in range(12)]
    made.add_row("row", *cells, "a source of many words that may break over lines")
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(made)
    shown = console.export_text()
    assert max(map(len, shown.splitlines())) <= width
    for word in [*headings, *cells]:
        assert word in shown, word
    # Rows are named in each part.
    parts = shown.count("name")
    assert parts == (1 if width == 200 else shown.count("row ")) and "…" not in shown


@pytest.mark.parametrize(
    ("r_t", "verdict"),
    # EuroSys'24, section 6: 67.29 % of the servers save 25.98 %. At R_t 1.6 they cost 7.66 % more.
    [("1.1", "CXL memory pays: the same work takes 67.29 % of the servers and costs 25.98 % less."),
     ("1.6", "CXL memory does not pay: the same work takes 67.29 % of the servers and costs 7.66 % more.")],
)  # fmt: skip
def test_a_plan_begins_with_its_verdict(r_t: str, verdict: str) -> None:
    said = CliRunner().invoke(cli, ["plan", "cost", "--r-d", "10", "--r-c", "8", "--c", "2", "--r-t", r_t])
    assert " ".join(said.output.split("\n\n")[0].split()) == verdict


def test_every_option_of_a_guest_is_in_one_section_of_the_help() -> None:
    listed = [option.flag for group in sections.SECTIONS.values() for option in group]
    assert sorted(listed) == sorted(set(listed))
    assert {option.flag for option in options.GUEST} <= set(listed)
