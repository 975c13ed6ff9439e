"""Sizes of memory: 512M, 2G."""

from __future__ import annotations

import re

from cxlab.run.errors import BadRequest

#: Binary multiples, as QEMU, the kernel and numactl read them.
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
MIB = UNITS["M"]
#: What st_blocks counts in [bytes].
BLOCKS_OF_STAT = 512
#: Linux 6.12 and its init need about this much on node 0 to boot with the tree mounted.
LEAST_BOOT_NODE_BYTES = 256 * MIB


def parse_bytes(text: str) -> int:
    """``512M`` in bytes.

    Raises:
        BadRequest: not a whole number with a unit.

    """
    match = re.fullmatch(r"([0-9]+)([KMGT])(?:iB)?", text)
    if match is None or int(match[1]) == 0:
        raise BadRequest(
            f"'{text}' is not a size; valid: a whole number above 0 with K, M, G or T, as in 512M or 2G"
        )
    return int(match[1]) * UNITS[match[2]]


def format_bytes(size: int) -> str:
    """``536870912`` as ``512M``: the largest unit that leaves a whole number."""
    for unit, multiple in reversed(UNITS.items()):
        if size >= multiple and size % multiple == 0:
            return f"{size // multiple}{unit}"
    return str(size)
