"""``cxlab checkpoint``: a program that has set itself up, kept to be started many times."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import click

from cxlab.cli import session
from cxlab.cli.sections import Sectioned
from cxlab.output import say
from cxlab.run.errors import BadRequest
from cxlab.run.guest import checkpoint
from cxlab.run.host import checkpointing
from cxlab.run.host.progress import Progress
from cxlab.run.interruption import Interrupted, Interruption
from cxlab.run.options import (
    bounds,
    confinement,
    environment,
    placement,
    processors,
    simulated,
    table,
    timeout,
)
from cxlab.run.options.option import Given, Option

FROM_OUTPUT = replace(
    bounds.FROM_OUTPUT,
    help="Keep the program where it prints TEXT, on standard output or standard error. No default.  "
    "Example: ready",
)
OPTIONS: tuple[Option[Any], ...] = (
    FROM_OUTPUT,
    simulated.MACHINE,
    simulated.SET,
    simulated.PREFETCH,
    processors.CPUS,
    placement.MEMORY,
    *placement.POLICIES,
    environment.ENV,
    environment.ENV_PASS,
    confinement.JAIL,
    confinement.HIDE,
    timeout.OPTION,
)


@click.command(
    "checkpoint",
    cls=Sectioned,
    help="Keep PROGRAM as it is when it prints a text.\n\n"
    "PROGRAM runs untimed up to there, and is kept as NAME. `cxlab run --from NAME` goes on behind the "
    "text, as often as you like, on a machine with other timing or with the pages elsewhere. Caches are cold "
    "there. PROGRAM reads an empty standard input. "
    "\n\nExample: cxlab checkpoint loaded --from-output ready -- ./server",
    epilog="Exit status: 0 if the checkpoint is made, 125 if not, 128 + n if a signal ended the command.",
)
@partial(table.declare, OPTIONS)
@click.option("--list", "listed", is_flag=True, help="List the checkpoints that there are, and do no more.")
@click.option("--remove", "removed", is_flag=True, help="Remove the checkpoint NAME, and do no more.")
@click.argument("name", required=False)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
def command(listed: bool, removed: bool, name: str | None, program: tuple[str, ...], **values: Any) -> int:
    """Make, list or remove."""
    given = table.with_defaults(values)
    if listed:
        _list()
        return 0
    if name is None:
        raise BadRequest(
            "a checkpoint needs a name, as in: cxlab checkpoint loaded --from-output ready -- ./server. "
            "--list shows those that there are"
        )
    if removed:
        checkpoint.remove(name)
        return 0
    return _make(checkpoint.check_name(name), program, given)


def _list() -> None:
    names = checkpoint.names()
    for name in names:
        about = checkpoint.find(name).about
        processors = f"{about.cpus} processor{'' if about.cpus == 1 else 's'}"
        say(
            f"{name}: {' '.join(about.program.argv)}, at {about.text!r}; {about.machine.name}, "
            f"{processors}, {about.memory()}, {about.program.placement.text}",
            "  ",
        )
    if not names:
        say("There is no checkpoint. Example: cxlab checkpoint loaded --from-output ready -- ./server", "  ")


def _make(name: str, program: tuple[str, ...], given: Given) -> int:
    if not program:
        raise BadRequest(
            f"PROGRAM is missing: what is to be kept? Example: cxlab checkpoint {name} --from-output "
            f"ready -- ./server"
        )
    if given[bounds.FROM_OUTPUT] is None:
        raise BadRequest(
            "--from-output is missing: where is the checkpoint? Give a text that PROGRAM prints when it has "
            "set itself up, as in --from-output ready"
        )

    with Interruption() as interruption:
        try:
            with interruption.allowed():
                request, _ = session.prepare(given, session.Asked(session.placed(given, program), name))
                confined = session.confined(given[confinement.JAIL], given[confinement.HIDE])
            checkpointing.refuse_large(request)
            request = replace(request, detail="off")
            folder = checkpointing.make(name, request, confined, interruption, Progress(None))
        except Interrupted as interrupted:
            return 128 + interrupted.number
    click.echo(f"cxlab: checkpoint {name} is in {folder}; go on from it: cxlab run --from {name}", err=True)
    return 0
