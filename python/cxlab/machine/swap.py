"""A disk for the guest's swap: a file without a name in the run's folder, as large as what is swapped out.

What a request to it costs in simulated time: crates/qemu-plugin/src/device.rs. Source of the header: Linux,
include/linux/swap.h (union swap_header), version 1, as mkswap(8) writes it.
"""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import IO

PAGE = 4096
#: Behind the 1024 bytes that belong to a boot loader.
HEADER_AT = 1024
SIGNATURE = b"SWAPSPACE2"
#: Simulated service time of a request [us].
SERVICE_US = 80


def create(folder: Path, size: int) -> IO[bytes]:
    """A disk of ``size`` bytes, ready for swapon(2); it is gone when it is closed."""
    disk = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # the caller closes it
    disk.truncate(size)
    disk.seek(HEADER_AT)
    version, last_page, bad_pages = 1, size // PAGE - 1, 0
    disk.write(struct.pack("<III", version, last_page, bad_pages))
    disk.seek(PAGE - len(SIGNATURE))
    disk.write(SIGNATURE)
    disk.flush()
    return disk
