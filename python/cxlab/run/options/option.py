"""An option of the commands with a guest. One declaration has everything that the option does.

    Option(flag, help, ...)            the command line
        effect(value, context)  -->    Effect, by who is told:
                                         config      config.json
                                         plugin      settings of the QEMU plugin
                                         processor   features of QEMU's processor
                                         guest       run.json of the guest's init
                                         model       the job of the model

A new option is a module with an ``OPTION``, and a line in the table of `cxlab.run.options.table`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import click

from cxlab.run.machine import Machine
from cxlab.run.topology import Topology

Value = TypeVar("Value")
Command = Callable[..., Any]


@dataclass(frozen=True)
class Context:
    """Context that an option's value is checked against."""

    machine: Machine
    #: the devices of the CXL nodes; empty where firmware describes the nodes
    topology: Topology
    #: the file that the program is executed from, if this host has it
    program: Path | None = None


@dataclass(frozen=True)
class Effect:
    """Effect of a value on the run."""

    config: Mapping[str, Any] = field(default_factory=dict)
    #: as ``key=value``
    plugin: tuple[str, ...] = ()
    #: as ``key=value``
    processor: tuple[str, ...] = ()
    guest: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    #: what a reader must know of the pages that Linux moved
    moved_note: str = ""

    def __or__(self, other: Effect) -> Effect:
        """Join the effects of two options."""
        return Effect(
            {**self.config, **other.config},
            self.plugin + other.plugin,
            self.processor + other.processor,
            {**self.guest, **other.guest},
            {**self.model, **other.model},
            self.moved_note + other.moved_note,
        )


@dataclass(frozen=True)
class Option(Generic[Value]):
    """Declaration of an option: its flag, help, check and effect."""

    #: as on the command line: --poison
    flag: str
    #: a verb or a noun first, the unit, the default, one example
    help: str
    #: of click: type, default, metavar, multiple, is_flag
    settings: Mapping[str, Any] = field(default_factory=dict)
    effect: Callable[[Value, Context], Effect] = lambda _value, _context: Effect()
    #: with --detail off there is nothing that it could change
    needs_detail: bool = False

    @property
    def key(self) -> str:
        """The name of click's parameter."""
        return "option_" + self.flag.partition("/")[0].lstrip("-").replace("-", "_")

    @property
    def default(self) -> Any:
        """The value where the option is not given."""
        if self.settings.get("multiple"):
            return ()
        default = self.settings.get("default")
        return False if default is None and self.settings.get("is_flag") else default

    def __call__(self, command: Command) -> Command:
        """Give a command the option."""
        return click.option(self.flag, self.key, help=self.help, **self.settings)(command)


@dataclass(frozen=True)
class Given:
    """The options of a call, each with the type of its declaration."""

    values: Mapping[str, Any]

    def __getitem__(self, option: Option[Value]) -> Value:
        """The value of an option, its default where it was not given."""
        value: Value = self.values[option.key]
        return value

    def is_set(self, option: Option[Any]) -> bool:
        """Whether the value is another than the default."""
        return bool(self.values[option.key] != option.default)
