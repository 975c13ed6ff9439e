"""``cxlab run``: a program of the host, on a simulated machine."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from cxlab.cli import session
from cxlab.run import program_file
from cxlab.run.guest.protocol import Identity, Program
from cxlab.run.machine import Machine
from cxlab.run.options import environment, files, placement, table
from cxlab.run.options.option import Given


@click.command(
    "run",
    context_settings={"allow_interspersed_args": False},
    help="Run PROGRAM of this host on a simulated machine.\n\n"
    "The machine boots Linux with DRAM and CXL memory nodes. PROGRAM runs unmodified, as you, in this "
    "folder. It reads your files and changes none of them. "
    "Example: cxlab run --membind cxl -- sort big.txt",
    epilog="Exit status: the program's own; 125 if the simulator fails, 126 or 127 if PROGRAM cannot be "
    "executed or is not found, 128 + n if a signal ended it.",
)
@partial(table.declare, (*table.GUEST, *placement.POLICIES, files.KEEP))
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
def command(program: tuple[str, ...], **values: Any) -> int:
    """A program with a memory policy, as the user who calls."""
    given = Given(values)

    def placed(machine: Machine) -> Program:
        policy = placement.parse(machine, **placement.policies(given))
        variables, folder = environment.of(given), session.working_folder()
        program_file.check(program[0], folder, variables)
        return Program(program, folder, Identity.of_caller(), variables, policy)

    return session.run(given, session.Asked(placed, program[0], keep=given[files.KEEP]))
