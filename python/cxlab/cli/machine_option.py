"""``--machine`` and ``--set`` of the commands that boot no guest."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from cxlab.run.options import simulated

F = TypeVar("F", bound=Callable[..., Any])


def with_settings(parameter: str) -> Callable[[F], F]:
    """Add `--set`. The command gets ``parameter`` as an `AskedMachine`, or None if nothing is asked."""

    def add(command: F) -> F:
        @functools.wraps(command)
        def run(*arguments: Any, **given: Any) -> Any:
            settings = given.pop(simulated.SET.key)
            given[parameter] = simulated.asked(given[parameter], settings)
            return command(*arguments, **given)

        return simulated.SET(run)  # type: ignore[return-value]

    return add


def machine_option(default: str | None = None) -> Callable[[F], F]:
    """Add --machine and --set to a command."""
    machine = click.option(
        "--machine",
        default=default,
        show_default=default is not None,
        metavar="NAME|FILE",
        shell_complete=simulated.names,
        help=simulated.MACHINE.help,
    )
    return lambda command: machine(with_settings("machine")(command))
