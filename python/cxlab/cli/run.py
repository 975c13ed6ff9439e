"""``cxlab run``: a program of the host, on a simulated machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from cxlab.cli import session
from cxlab.cli.guest_options import GuestOptions, guest_options
from cxlab.machine import placement
from cxlab.machine.description import Machine
from cxlab.machine.guest import Identity, Program


@click.command(
    "run",
    context_settings={"allow_interspersed_args": False},
    help="Run PROGRAM of this host on a simulated machine: a booted Linux with DRAM and CXL nodes.",
    epilog="Exit status: the program's own; 125 if the simulator fails, 126 or 127 if PROGRAM cannot be "
    "executed or is not found, 128 + n if a signal ended it.",
)
@guest_options
@click.option("--membind", metavar="NODES", help="Pages only on these nodes.")
@click.option("--preferred", metavar="NODE", help="Pages on this node while it has room.")
@click.option("--interleave", metavar="NODES", help="Pages on these nodes in turn.")
@click.option(
    "--weighted-interleave", metavar="NODE=WEIGHT,...", help="Pages in turn, by weight. dram=3,cxl=1"
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Copy the files that PROGRAM writes to DIR.",
)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
def command(
    program: tuple[str, ...],
    membind: str | None,
    preferred: str | None,
    interleave: str | None,
    weighted_interleave: str | None,
    keep: Path | None,
    **options: Any,
) -> int:
    """A program with a memory policy, as the user who calls."""
    given = GuestOptions(**options)

    def placed(machine: Machine) -> Program:
        policy = placement.parse(
            machine,
            membind=membind,
            preferred=preferred,
            interleave=interleave,
            weighted_interleave=weighted_interleave,
        )
        variables = session.environment(given.variables)
        return Program(program, os.getcwd(), Identity.of_caller(), variables, policy)

    return session.run(given, session.Asked(placed, program[0], keep=keep))
