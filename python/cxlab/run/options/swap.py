"""A disk for the guest's swap: ``--swap SIZE``."""

from __future__ import annotations

from cxlab.run.options.option import Given, Option
from cxlab.run.size import parse_bytes

#: Simulated service time of a request (crates/qemu-plugin/src/device.rs) [us].
SERVICE_US = 80
OPTION: Option[str | None] = Option(
    "--swap",
    f"Size of a swap disk whose requests take {SERVICE_US} us of simulated time.  [default: none]  "
    "Example: 4G",
    {"metavar": "SIZE"},
)


def size(given: Given) -> int | None:
    """Of the disk [bytes]; None: there is none."""
    text = given[OPTION]
    return None if text is None else parse_bytes(text)
