"""``make man``: a manual page for each command, from the same words as its ``--help``.

click-man follows no commands that are imported when they are asked for, so the pages are written here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from cxlab.cli import cli
from cxlab.version import cxlab_version

FOLDER = Path(__file__).resolve().parents[1] / "target" / "man"


def commands(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    """The command and all below it."""
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, click.Context(found, info_name=name, parent=context))


def escaped(text: str) -> str:
    """Text as roff reads it: no line begins with a control character, and a dash is a dash."""
    plain = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", plain)


def page(context: click.Context) -> str:
    """The manual page of one command."""
    command, name = context.command, context.command_path.replace(" ", "-")
    summary, *more = (command.help or "").split("\n\n")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH "{name.upper()}" 1 "" "cxlab {cxlab_version()}" "CXLab"',
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(summary.rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {escaped(context.command_path)}",
        escaped(usage),
    ]
    if more:
        lines.append(".SH DESCRIPTION")
        lines += [f".PP\n{escaped(paragraph)}" for paragraph in more]
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    if options := [record for record in records if record is not None]:
        lines.append(".SH OPTIONS")
        lines += [f".TP\n.B {escaped(names)}\n{escaped(words)}" for names, words in options]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            words = (found.help or "").split("\n\n")[0]
            lines.append(f".TP\n.BR {escaped(name)}\\-{escaped(below)} (1)\n{escaped(words)}")
    if command.epilog:
        lines += [".SH NOTES", escaped(command.epilog)]
    return "\n".join(lines) + "\n"


def click_commands() -> list[click.Context]:
    """Every command of `cxlab`."""
    return list(commands(cli, cli.make_context("cxlab", [], resilient_parsing=True)))


def main() -> int:
    """Write all manual pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    contexts = click_commands()
    for context in contexts:
        (FOLDER / f"{context.command_path.replace(' ', '-')}.1").write_text(page(context))
    print(f"wrote {len(contexts)} pages; read one with: man -l {FOLDER / 'cxlab-run.1'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
