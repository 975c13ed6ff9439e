"""The command ``cxlab``: one file a subcommand, imported when it is asked for."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from contextlib import suppress

import click

from cxlab.cli.standard_error import make_lossy
from cxlab.error import HostRefuses, InputError, MachineError
from cxlab.run.errors import OWN_ERROR
from cxlab.run.guest import cache
from cxlab.run.interruption import SIGNALS
from cxlab.version import cxlab_version

#: Sections of the help: name and module of each command. A module's ``command`` is the subcommand.
SECTIONS = {
    "Run a program": {
        "boot": "cxlab.cli.boot",
        "checkpoint": "cxlab.cli.checkpoint",
        "compare": "cxlab.cli.compare",
        "marker": "cxlab.cli.marker",
        "replay": "cxlab.cli.replay",
        "run": "cxlab.cli.run",
        "sweep": "cxlab.cli.sweep",
        "workload": "cxlab.cli.workload",
    },
    "Measure a machine": {
        "bench": "cxlab.cli.bench",
        "calibrate": "cxlab.cli.calibrate",
        "validate": "cxlab.cli.validate",
    },
    "Place pages": {
        "caption": "cxlab.cli.caption",
        "study": "cxlab.cli.study",
    },
    "Decide": {
        "experiment": "cxlab.cli.experiment",
        "plan": "cxlab.cli.plan",
        "reproduce": "cxlab.cli.reproduce",
    },
    "Look": {
        "diff": "cxlab.cli.diff",
        "explain": "cxlab.cli.explain",
        "show": "cxlab.cli.show",
        "completion": "cxlab.cli.completion",
        "doctor": "cxlab.cli.doctor",
        "machines": "cxlab.cli.machines",
        "query": "cxlab.cli.query",
        "report": "cxlab.cli.report",
        "report-bug": "cxlab.cli.report_bug",
        "top": "cxlab.cli.top",
    },
}
COMMANDS = {name: module for section in SECTIONS.values() for name, module in section.items()}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """All that this installation has."""
        return [name for name in sorted(COMMANDS) if self._here(ctx, name) is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the one.

        Raises:
            InputError: it is a command of a checkout, and this is none.

        """
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        return command

    def _here(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the one, if this installation has it."""
        try:
            return self.get_command(ctx, cmd_name)
        except InputError:
            return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a list of commands for each section."""
        room = formatter.width - 6 - max(map(len, COMMANDS))
        for section, names in SECTIONS.items():
            commands = [(name, self._here(ctx, name)) for name in names]
            with formatter.section(section):
                formatter.write_dl(
                    [(name, one.get_short_help_str(room)) for name, one in commands if one is not None]
                )


def _show_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"cxlab {cxlab_version()}")
        ctx.exit()


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="First steps: `cxlab doctor`, then `cxlab run --membind cxl -- sort big.txt`.",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """What will CXL memory do for my program and my bill?"""


def _open_standard_descriptors() -> None:
    """A descriptor 0, 1 or 2 that the caller closed must not become one of our sockets."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    # Python has none where the caller closed the descriptor.
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _status(own: int) -> int:
    """``own``, except where statuses below 125 are the program's."""
    asked = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), None)
    return OWN_ERROR if asked in ("run", "boot", "caption", "checkpoint", "compare") else own


def _drop_output() -> None:
    """Drop what is left for standard output: Python would try to write it again, and end with status 120."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _end_as_said() -> None:
    """All is written and said: a signal while Python ends would only change the status."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def main() -> None:
    """Run the command line and end with its status."""
    _open_standard_descriptors()
    make_lossy()
    try:
        # Matplotlib's own choice is the home, and it complains where that cannot be written.
        os.environ.setdefault("MPLCONFIGDIR", str(cache.folder() / "matplotlib"))
        status = cli.main(standalone_mode=False)
        sys.stdout.flush()
        _end_as_said()
    except click.ClickException as error:
        error.show()
        sys.exit(_status(error.exit_code))
    except MachineError as error:
        click.echo(f"cxlab: {error}", err=True)
        sys.exit(_status(1) if isinstance(error, HostRefuses) else error.status)
    except OSError as error:
        # Of this host: a full disk, a limit, a folder that has gone.
        place = "" if error.filename is None else f" {error.filename}"
        click.echo(f"cxlab: {HostRefuses(f'the host refuses:{place} {error.strerror or error}')}", err=True)
        _drop_output()
        sys.exit(_status(1))
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)
