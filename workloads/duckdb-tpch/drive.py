"""Traffic of the machine's drive, as Linux counts it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

#: Of /proc/diskstats: the device, reads completed, sectors read and written. A sector has 512 bytes.
DEVICE, NAME, READS, READ, WRITTEN, SECTOR = "vda", 2, 3, 5, 9, 512


class Traffic(NamedTuple):
    """Requests that have read, and bytes that were read and written."""

    reads: int
    read: int
    written: int

    def since(self, before: Traffic) -> Traffic:
        """Subtract what was there before."""
        return Traffic(*(now - then for now, then in zip(self, before, strict=True)))


def traffic() -> Traffic:
    """Until now."""
    for line in Path("/proc/diskstats").read_text().splitlines():
        words = line.split()
        if words[NAME] == DEVICE:
            return Traffic(int(words[READS]), int(words[READ]) * SECTOR, int(words[WRITTEN]) * SECTOR)
    raise SystemExit(f"/proc/diskstats has no {DEVICE}")
