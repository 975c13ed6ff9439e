"""``--detail`` chooses what is timed. ``--stats`` shows what was counted."""

from __future__ import annotations

from dataclasses import replace

import click

from cxlab.run.options.option import Option

ALL, OFF, MARKER = "all", "off", "marker"
DETAIL: Option[str] = Option(
    "--detail",
    "Part of the program that is timed: `all` of it, the part between its own markers (`marker`), or nothing "
    "(`off`).",
    {"type": click.Choice([ALL, MARKER, OFF]), "default": ALL, "show_default": True},
)
#: `DETAIL` of `cxlab boot`.
AT_A_PROMPT = replace(DETAIL, settings={**DETAIL.settings, "default": OFF})
STATS: Option[bool] = Option(
    "--stats",
    "Print every statistic of the machine, with its unit and description.  [default: off]",
    {"is_flag": True},
    needs_detail=True,
)
