"""The date that the program sees when its run begins: ``--date``."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from cxlab.run.errors import BadRequest
from cxlab.run.options.option import Given, Option

#: Seconds are all that the guest is told.
FORM = "%Y-%m-%dT%H:%M:%SZ"

OPTION: Option[str | None] = Option(
    "--date",
    "Date that the run begins at, in UTC; config.json has that of each run. With --swap or --disk, only runs "
    "of one date are the same to the bit.  [default: now]  Example: 2026-11-25T04:30:00Z",
    {"metavar": "DATE"},
)


def now() -> int:
    """Return the host's date [s since 1970]."""
    return int(time.time())


def seconds(given: Given) -> int:
    """The date [s since 1970].

    Raises:
        BadRequest: it is no date.

    """
    text = given[OPTION]
    if text is None:
        return now()
    try:
        date = datetime.strptime(text, FORM).replace(tzinfo=UTC)
    except ValueError:
        raise BadRequest(f"--date {text}: valid is a date in UTC, as in 2026-11-25T04:30:00Z") from None
    if date.timestamp() < 0:
        raise BadRequest(f"--date {text}: Linux knows no date before 1970-01-01T00:00:00Z")
    return int(date.timestamp())


def text_of(date: int) -> str:
    """A date [s since 1970] as the option takes it."""
    return datetime.fromtimestamp(date, UTC).strftime(FORM)
