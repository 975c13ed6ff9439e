"""Where a run's guest begins: ``--boot``."""

from __future__ import annotations

import click

from cxlab.run.options.option import Effect, Given, Option

SAVED, WHOLE = "saved", "whole"
OPTION: Option[str] = Option(
    "--boot",
    "Where the guest begins: where Linux is up, in a state that was saved the first time (`saved`), or at "
    "the kernel's first instruction (`whole`). With --cxl device, --swap or more "
    "than 8 GiB of memory it boots each time.",
    {"type": click.Choice([SAVED, WHOLE]), "default": SAVED, "show_default": True},
    lambda value, _: Effect(config={"boot": value}),
)


def begins_saved(given: Given) -> bool:
    """Whether the guest may begin where Linux is up."""
    return given[OPTION] == SAVED
