"""A run that goes on from a checkpoint: ``--from``, and the options that are the checkpoint's."""

from __future__ import annotations

from typing import Any

from cxlab.run.errors import BadRequest
from cxlab.run.options import (
    boot,
    bounds,
    cxl,
    date,
    disk,
    environment,
    huge_pages,
    poison,
    sampling,
    tiering,
)
from cxlab.run.options.option import Given, Option

FROM: Option[str | None] = Option(
    "--from",
    "Go on from the checkpoint NAME in place of starting PROGRAM; `cxlab checkpoint` makes one. Caches are "
    "cold there.  [default: start PROGRAM]  Example: redis-loaded",
    {"metavar": "NAME"},
)
#: What was decided when Linux booted or when the program started.
DECIDED: tuple[Option[Any], ...] = (
    cxl.CXL,
    cxl.MANAGED,
    cxl.WAYS,
    cxl.GRANULARITY,
    cxl.BRIDGES,
    cxl.PERSISTENT,
    cxl.NAMESPACE,
    cxl.PERSISTENT_IN,
    poison.OPTION,
    tiering.OPTION,
    huge_pages.OPTION,
    *disk.OPTIONS,
    boot.OPTION,
    date.OPTION,
    bounds.FROM_OUTPUT,
    bounds.FROM_SYMBOL,
    bounds.TO_SYMBOL,
    environment.ENV,
    environment.ENV_PASS,
    sampling.WARM_UP,
)


def refuse_decided(given: Given) -> None:
    """Options that come too late.

    Raises:
        BadRequest: there is one.

    """
    for option in DECIDED:
        if given.is_set(option):
            raise BadRequest(
                f"{option.flag} with --from: that is decided before a checkpoint is made. Leave it out, or "
                "run the program without --from"
            )
