"""A file that appears whole or not at all. What is no regular file is written directly.

::

    absent or regular file   written beside it, synced, then renamed to its name
    symbolic link            the same, for the file that the link leads to
    device, FIFO, socket     opened and written: its name is never taken from it

A write that fails raises OSError and leaves what was there. A killed process leaves the file beside it,
``.NAME.*.unfinished``, without the lock that a live one has on it. `remove_leftovers` and
`remove_all_leftovers` remove these.
"""

from __future__ import annotations

import fcntl
import glob
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

UNFINISHED = ".unfinished"


class WholeFile:
    """A file on its way: `commit` gives it its name, `discard` drops it."""

    def __init__(self, path: Path) -> None:
        """Open ``path`` itself if it is no regular file, else a new file beside it."""
        self.path = path
        self._partial: Path | None = None
        if _is_regular_or_absent(path):
            self._target = Path(os.path.realpath(path))
            descriptor, name = tempfile.mkstemp(
                prefix=f".{self._target.name}.", suffix=UNFINISHED, dir=self._target.parent
            )
            self._partial = Path(name)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        else:
            descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self.file: IO[bytes] = os.fdopen(descriptor, "wb")

    def fileno(self) -> int:
        """The descriptor, for a process that inherits it."""
        return self.file.fileno()

    def commit(self) -> None:
        """Everything has been written, by every process that has the file: sync it, give it its name."""
        try:
            self.file.flush()
            if self._partial is not None:
                # mkstemp makes it private; results are as readable as any file of the user.
                mask = os.umask(0)
                os.umask(mask)
                os.fchmod(self.fileno(), 0o666 & ~mask)
                os.fsync(self.fileno())
                self.file.close()
                self._partial.replace(self._target)
                self._partial = None
        finally:
            self.discard()

    def discard(self) -> None:
        """Drop it; after `commit` there is nothing to drop."""
        if self._partial is not None:
            self._partial.unlink(missing_ok=True)
            self._partial = None
        # What could not be flushed before cannot be now, and has been said.
        with suppress(OSError):
            self.file.close()


def remove_leftovers(path: Path) -> list[Path]:
    """Remove what killed processes have left of ``path``, and name it."""
    target = Path(os.path.realpath(path))
    return _remove(target.parent.glob(f".{glob.escape(target.name)}.*{UNFINISHED}"))


def remove_all_leftovers(folder: Path) -> list[Path]:
    """Remove what killed processes have left in ``folder``, and name it."""
    return _remove(folder.glob(f".*{UNFINISHED}"))


def _remove(found: Iterable[Path]) -> list[Path]:
    removed = []
    for left in sorted(found):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()
            removed.append(left)
    return removed


def _is_regular_or_absent(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True
