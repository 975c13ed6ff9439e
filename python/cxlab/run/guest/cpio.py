"""The archive that Linux unpacks as its first root: cpio, format ``newc``.

::

    | 070701 | 13 fields of 8 hex digits | name NUL, padded to 4 | data, padded to 4 |  ...  TRAILER!!!

Source: Linux, Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field


@dataclass
class Archive:
    """A growing archive."""

    _parts: list[bytes] = field(default_factory=list)
    _inode: int = 0

    def folder(self, name: str) -> None:
        """Add a folder."""
        self._add(name, stat.S_IFDIR | 0o755)

    def file(self, name: str, data: bytes, *, executable: bool = False) -> None:
        """Add a regular file."""
        self._add(name, stat.S_IFREG | (0o755 if executable else 0o644), data)

    def character_device(self, name: str, major: int, minor: int) -> None:
        """Add a character device."""
        self._add(name, stat.S_IFCHR | 0o600, device=os.makedev(major, minor))

    def closed(self) -> bytes:
        """The archive, closed by its trailer."""
        whole = Archive(list(self._parts), self._inode)
        whole._add("TRAILER!!!", 0)
        return b"".join(whole._parts)

    def _add(self, name: str, mode: int, data: bytes = b"", device: int = 0) -> None:
        self._inode += 1
        encoded = name.encode() + b"\0"
        # inode, mode, uid, gid, links, mtime, size, device (2), special device (2), name's length, checksum
        major, minor = os.major(device), os.minor(device)
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, major, minor, len(encoded), 0)
        header = b"070701" + b"".join(b"%08x" % f for f in fields)
        self._parts += [_padded(header + encoded), _padded(data)]


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
