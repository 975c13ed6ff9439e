"""The state that a run's guest begins from: ``--boot``."""

from __future__ import annotations

import click

from cxlab.run.options.option import Effect, Given, Option

SAVED, WHOLE = "saved", "whole"
OPTION: Option[str] = Option(
    "--boot",
    "Where the guest begins. `saved`: from a Linux that is up, which the first run on this machine saved. "
    "`whole`: from the kernel's first instruction, as always with --cxl device, --swap, --disk or more than "
    "64 GiB of memory.",
    {"type": click.Choice([SAVED, WHOLE]), "default": SAVED, "show_default": True},
    lambda value, _: Effect(config={"boot": value}),
)


def begins_saved(given: Given) -> bool:
    """Whether the guest may begin where Linux is up."""
    return given[OPTION] == SAVED
