"""``cxlab boot``: a simulated machine with a prompt, or a script in its place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from cxlab.cli import session
from cxlab.cli.guest_options import GuestOptions, guest_options
from cxlab.machine import placement
from cxlab.machine.guest import Identity, Program

SHELL = "/bin/bash"
#: In the guest: its host's tree is read-only, and what is written ends with it.
ROOT = Identity(0, 0, ())


@click.command(
    "boot",
    help="Boot a simulated machine: a root shell at this terminal, with this host's programs and files. "
    "`exit` ends it; ctrl-] does at once.",
    epilog="Exit status: the shell's or the script's own; 125 if the simulator fails.",
)
@guest_options
@click.option(
    "--script",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True),
    metavar="FILE",
    help="Run FILE by bash in place of the prompt.",
)
def command(script: Path | None, **options: Any) -> int:
    """A shell as root; with a terminal where there is one."""
    given = GuestOptions(**options)
    terminal = script is None and os.isatty(0) and os.isatty(1)
    variables = session.environment(given.variables) | {"HOME": "/root", "USER": "root", "LOGNAME": "root"}
    if terminal:
        variables |= {"TERM": os.environ.get("TERM", "dumb"), "PS1": "cxlab:\\w\\$ ", "HISTFILE": ""}
        shell: tuple[str, ...] = (SHELL, "--norc", "-i")
    else:
        shell = (SHELL, "--norc") if script is None else (SHELL, str(script.absolute()))
    program = Program(shell, os.getcwd(), ROOT, variables, placement.DEFAULT)
    name = "boot" if script is None else script.stem
    return session.run(given, session.Asked(lambda _: program, name, terminal))
