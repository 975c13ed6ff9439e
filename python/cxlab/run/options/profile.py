"""``--profile``: keeps a profile of what waits for memory, for ``cxlab top``."""

from __future__ import annotations

from pathlib import Path

import click

from cxlab.run.errors import BadRequest
from cxlab.run.options.option import Option

OPTION: Option[bool] = Option(
    "--profile",
    "Keep which instructions wait for memory, and for which data. `cxlab top RUN` shows them.  "
    "[default: off]",
    {"is_flag": True},
    needs_detail=True,
)
#: Of a replay, which has no folder.
TO_FILE: Option[Path | None] = Option(
    "--profile",
    "Write to this file which instructions wait for memory, and for which data: `cxlab top FILE` shows it.  "
    "Example: profile.json",
    {"type": click.Path(dir_okay=False, path_type=Path), "metavar": "FILE"},
)


def check(*, sampled: bool, profiled: bool) -> None:
    """Refuse a profile of a sampled run.

    Raises:
        BadRequest: both are asked for.

    """
    if sampled and profiled:
        raise BadRequest(
            "--sample with --profile: between windows the model sees no calls and no first accesses, so "
            "callers and allocations would be wrong. Leave --sample out. To time a part of a long program, "
            "give --detail marker"
        )
