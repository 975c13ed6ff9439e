"""``cxlab run``: a program of the host, on a simulated machine."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from cxlab.cli import session, start
from cxlab.cli.sections import Sectioned
from cxlab.run.options import checkpoint, files, placement, table
from cxlab.run.options.option import Given


@click.command(
    "run",
    cls=Sectioned,
    context_settings={"allow_interspersed_args": False},
    help="Run PROGRAM of this host on a simulated machine.\n\n"
    "The machine boots Linux with DRAM and CXL memory nodes. PROGRAM runs unmodified, as you, in this "
    "folder. It reads your files and changes none of them. "
    "\n\nExample: cxlab run --membind cxl -- sort big.txt",
    epilog="Exit status: the program's own; 125 if the simulator fails, 126 or 127 if PROGRAM cannot be "
    "executed or is not found, 128 + n if a signal ended it.",
)
@partial(table.declare, (*table.GUEST, *placement.POLICIES, files.KEEP, checkpoint.FROM))
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
def command(program: tuple[str, ...], **values: Any) -> int:
    """A program with a memory policy, as the user who calls; or one that goes on from its checkpoint."""
    given = Given(values)
    name = given[checkpoint.FROM]
    if name is not None:
        return start.run(given, name, program)
    if not program:
        raise click.UsageError("Missing argument '-- PROGRAM [ARGS]...'. Give a program, or --from NAME.")

    return session.run(
        given, session.Asked(session.placed(given, program), program[0], keep=given[files.KEEP])
    )
