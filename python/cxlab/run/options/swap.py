"""A disk for the guest's swap: ``--swap SIZE``."""

from __future__ import annotations

from cxlab.run.errors import BadRequest
from cxlab.run.machine import Machine
from cxlab.run.options.option import Given, Option
from cxlab.run.size import parse_bytes

OPTION: Option[str | None] = Option(
    "--swap",
    "Size of a swap disk on the machine's drive. Its requests take simulated time.  [default: none]  "
    "Example: 4G",
    {"metavar": "SIZE"},
)


def size(given: Given, machine: Machine) -> int | None:
    """Size of the disk [bytes]; None: there is none.

    Raises:
        BadRequest: the machine has no drive.

    """
    text = given[OPTION]
    if text is None:
        return None
    if machine.drive is None:
        raise BadRequest(
            f"--swap {text}: the machine {machine.name} has no drive for it. "
            "Name one with --set drive=pm983, or in the machine's file"
        )
    return parse_bytes(text)
