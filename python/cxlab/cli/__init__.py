"""The command ``cxlab``: one file a subcommand, imported when it is asked for."""

from __future__ import annotations

import importlib
import os
import sys

import click

from cxlab.machine.errors import MachineError
from cxlab.machine.summary import OWN_ERROR, cxlab_version

#: Name and module; a module's ``command`` is the subcommand.
COMMANDS = {
    "bench": "cxlab.cli.bench",
    "boot": "cxlab.cli.boot",
    "calibrate": "cxlab.cli.calibrate",
    "caption": "cxlab.cli.caption",
    "doctor": "cxlab.cli.doctor",
    "machines": "cxlab.cli.machines",
    "plan": "cxlab.cli.plan",
    "replay": "cxlab.cli.replay",
    "run": "cxlab.cli.run",
    "study": "cxlab.cli.study",
    "validate": "cxlab.cli.validate",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the one."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        return command


@click.command(cls=_Commands)
@click.version_option(cxlab_version(), message="cxlab %(version)s")
def cli() -> None:
    """What will CXL memory do for my program and my bill?"""


def _open_standard_descriptors() -> None:
    """A descriptor 0, 1 or 2 that the caller closed must not become one of our sockets."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def main() -> None:
    """Run the command line and end with its status."""
    _open_standard_descriptors()
    try:
        status = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        asked = error.ctx.info_name if isinstance(error, click.UsageError) and error.ctx is not None else None
        # Statuses below 125 are the program's own.
        sys.exit(OWN_ERROR if asked in ("run", "boot", "caption") else error.exit_code)
    except MachineError as error:
        click.echo(f"cxlab: {error}", err=True)
        sys.exit(OWN_ERROR)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)
