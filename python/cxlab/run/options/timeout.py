"""Longest time that a run may take on this host: ``--timeout``."""

from __future__ import annotations

import re

from cxlab.run.errors import BadRequest
from cxlab.run.options.option import Given, Option

#: In seconds.
UNITS = {"s": 1, "min": 60, "h": 3600}
OPTION: Option[str | None] = Option(
    "--timeout",
    "End the run after this much real time, and keep the results so far.  [default: none]  Example: 10min",
    {"metavar": "TIME"},
)


def seconds(given: Given) -> float | None:
    """The limit [s]; None: there is none.

    Raises:
        BadRequest: no time above 0 with a unit.

    """
    text = given[OPTION]
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(s|min|h)", text)
    if match is None or float(match[1]) == 0:
        raise BadRequest(
            f"--timeout {text}: this is not a time; "
            "valid: a number above 0 with s, min or h, as in 90s, 10min or 2h"
        )
    return float(match[1]) * UNITS[match[2]]
