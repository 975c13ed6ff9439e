"""A disk for the guest's swap: a file without a name in the run's folder, as large as what is swapped out.

What a request to it costs in simulated time: crates/qemu-plugin/src/device.rs. Source of the header: Linux,
include/linux/swap.h (union swap_header), version 1, as mkswap(8) writes it.
"""

from __future__ import annotations

import os
import struct
import tempfile
from pathlib import Path

PAGE = 4096
#: Behind the 1024 bytes that belong to a boot loader.
HEADER_AT = 1024
SIGNATURE = b"SWAPSPACE2"


class Disk:
    """A disk ready for swapon(2); it is gone when it is closed."""

    def __init__(self, folder: Path, size: int) -> None:
        """Make a disk of ``size`` bytes in ``folder``."""
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # closed by `__exit__`
        self._file.truncate(size)
        self._file.seek(HEADER_AT)
        version, last_page, bad_pages = 1, size // PAGE - 1, 0
        self._file.write(struct.pack("<III", version, last_page, bad_pages))
        self._file.seek(PAGE - len(SIGNATURE))
        self._file.write(SIGNATURE)
        self._file.flush()
        writable = self._file.fileno()
        self._readable = os.open(f"/proc/self/fd/{writable}", os.O_RDONLY | os.O_CLOEXEC)
        #: to read and write, and to read
        self.descriptors = (writable, self._readable)

    def __enter__(self) -> Disk:
        """Nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Drop the disk."""
        os.close(self._readable)
        self._file.close()
