"""``cxlab boot``: a simulated machine with a prompt, or a script in its place."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import click

from cxlab.cli import session
from cxlab.cli.sections import Sectioned
from cxlab.run.guest.protocol import Identity, Program
from cxlab.run.machine import Machine
from cxlab.run.options import detail, environment, placement, table
from cxlab.run.options.option import Given

SHELL = "/bin/bash"
#: In the guest: its host's tree is read-only, and what is written ends with it.
ROOT = Identity(0, 0, ())


@click.command(
    "boot",
    cls=Sectioned,
    help="Boot a simulated machine and give a prompt.\n\n"
    "The prompt is a root shell at this terminal, with this host's programs and files. "
    "`exit` ends the machine. ctrl-] ends it at once.\n\nExample: cxlab boot --cxl device",
    epilog="Exit status: the shell's or the script's own; 125 if the simulator fails.",
)
@partial(table.declare, table.AT_A_PROMPT)
@click.option(
    "--script",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True),
    metavar="FILE",
    help="Run FILE by bash in place of the prompt.  Example: look.sh",
)
def command(script: Path | None, **values: Any) -> int:
    """A shell as root; with a terminal where there is one."""
    given = Given(values)
    terminal = script is None and os.isatty(0) and os.isatty(1)
    variables = environment.of_root(given)
    if terminal:
        variables |= {"TERM": os.environ.get("TERM", "dumb"), "PS1": "cxlab:\\w\\$ ", "HISTFILE": ""}
        shell: tuple[str, ...] = (SHELL, "--norc", "-i")
    else:
        shell = (SHELL, "--norc") if script is None else (SHELL, str(script.absolute()))
    program = Program(shell, session.working_folder(), ROOT, variables, placement.DEFAULT)

    def announced(machine: Machine) -> Program:
        if terminal:
            click.echo(_banner(machine, given[detail.DETAIL]), err=True)
        return program

    name = "boot" if script is None else script.stem
    return session.run(given, session.Asked(announced, name, terminal))


def _banner(machine: Machine, timed: str) -> str:
    """Say what boots, what is timed, and how to leave."""
    nodes = ", ".join(node.name for node in machine.nodes)
    times = {
        "all": "Every instruction is timed, so the shell is slow.",
        detail.MARKER: "Programs are timed between their markers.",
        detail.OFF: "Nothing is timed. --detail all times every instruction.",
    }
    return (
        f"cxlab: booting {machine.name} (memory: {nodes}). {times[timed]}\n"
        "cxlab: this is a root shell; what it writes ends with the machine. `exit` or ctrl-] ends it."
    )
