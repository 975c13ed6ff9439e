"""A disk for the guest's swap. It is a file without a name in the run's folder, and grows with what is
swapped out.

QEMU's device is `vhost-user-blk`. The plugin is the other end of its socket, serves what the guest asks
for, and answers when the machine's drive has done it: crates/qemu-plugin/src/disk.rs. Source of the header:
Linux, include/linux/swap.h (union swap_header), version 1, as mkswap(8) writes it.
"""

from __future__ import annotations

import socket
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

PAGE = 4096
#: Behind the 1024 bytes that belong to a boot loader.
HEADER_AT = 1024
SIGNATURE = b"SWAPSPACE2"


@dataclass(frozen=True)
class Ends:
    """Descriptors of a disk, all of which QEMU inherits."""

    #: the socket's end of QEMU's device
    device: int
    #: its other end, the plugin's
    plugin: int
    #: the file with the data
    file: int

    def all(self) -> tuple[int, int, int]:
        """All three file descriptors."""
        return (self.device, self.plugin, self.file)


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
        self._device, self._plugin = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.ends = Ends(self._device.fileno(), self._plugin.fileno(), self._file.fileno())

    def __enter__(self) -> Disk:
        """Nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Drop the disk."""
        self._device.close()
        self._plugin.close()
        self._file.close()
