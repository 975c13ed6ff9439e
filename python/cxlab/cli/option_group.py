"""Groups of options: declared once, and given to a command as one object.

::

    grouped("load", Load, option, option, ...)  -->  command(load=Load(...), ...)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def grouped(key: str, group: type[Any], *options: Callable[[F], F]) -> Callable[[F], F]:
    """Give a command options that come to it as one dataclass, under this keyword."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def run(**given: Any) -> Any:
            return command(**{key: taken(group, given)}, **given)

        for option in reversed(options):
            run = option(run)
        return run  # type: ignore[return-value]

    return decorate


def taken(group: type[T], given: dict[str, Any]) -> T:
    """A group of options, taken out of what the command line gives."""
    return group(**{field.name: given.pop(field.name) for field in fields(group)})  # type: ignore[arg-type]
