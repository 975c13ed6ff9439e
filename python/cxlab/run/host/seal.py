"""The seal of a saved state: its checksum, and how to know the file that was sealed.

::

    saved:  state, time --digest--> seal: sha256, and inode, size and times of the state's file
    begins: is it the file that was sealed? --yes--> QEMU loads it
                                            '--no--> digest: the same --> sealed anew; another --> Damaged

A state of 10 GB takes 8 s to hash, and no start should. So a file that nobody has written since is not
hashed again. Blocks of zeros are not hashed: most of a state is holes.

Not found: bits that change on a disk without a write. `touch state` makes the next start hash all of it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cxlab.file_format import KEY, Format, other
from cxlab.whole_file import WholeFile

SEAL = "seal"
#: Hashed as one, or left out as one if it has only zeros [bytes].
BLOCK = 1 << 20
_ZEROS = bytes(BLOCK)


class Damaged(ValueError):
    """A state that is not the one that was sealed, and why."""


@dataclass(frozen=True)
class Identity:
    """A file as it was when its content was last known."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, descriptor: int) -> Identity:
        """The open file's."""
        now = os.fstat(descriptor)
        return cls(now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)


@dataclass(frozen=True)
class Seal:
    """Seal of a state, in a file beside it: checksum, time and identity of the state's file."""

    sha256: str
    time_ps: int
    file: Identity

    @classmethod
    def read(cls, folder: Path) -> Seal:
        """The folder's.

        Raises:
            Damaged: it is missing, or it is none.

        """
        try:
            document = json.loads((folder / SEAL).read_bytes())
            if isinstance(document, dict) and (another := other(document, Format.SEAL)) is not None:
                raise Damaged(f"{folder / SEAL}: {another}")
            return msgspec.convert(document, cls)
        except (OSError, UnicodeDecodeError, json.JSONDecodeError, msgspec.ValidationError) as error:
            raise Damaged(f"{folder / SEAL} cannot be read: {error}") from None

    def write(self, folder: Path) -> None:
        """Write it beside the state."""
        document = {KEY: Format.SEAL.value, **msgspec.to_builtins(self)}
        whole = WholeFile(folder / SEAL)
        try:
            whole.file.write((json.dumps(document) + "\n").encode())
            whole.commit()
        finally:
            whole.discard()


def seal(folder: Path, descriptor: int, time_ps: int) -> None:
    """Seal the open state of this folder."""
    Seal(digest(descriptor, time_ps), time_ps, Identity.of(descriptor)).write(folder)


def check(folder: Path, descriptor: int, time_ps: int) -> None:
    """Compare the open state of this folder with its seal.

    Raises:
        Damaged: it is not what was sealed.

    """
    sealed = Seal.read(folder)
    file = Identity.of(descriptor)
    if (sealed.time_ps, sealed.file) == (time_ps, file):
        return
    if digest(descriptor, time_ps) != sealed.sha256:
        raise Damaged(f"the state in {folder} is damaged: its checksum is another")
    with suppress(OSError):  # of another user: each start hashes it
        Seal(sealed.sha256, time_ps, file).write(folder)


def digest(descriptor: int, time_ps: int) -> str:
    """Hash of a state and its time. The descriptor stands at the beginning again, where QEMU reads."""
    found = hashlib.sha256()
    for at in _blocks(descriptor):
        block = os.pread(descriptor, BLOCK, at)
        if block != _ZEROS[: len(block)]:
            found.update(f"{at} ".encode())
            found.update(block)
    os.lseek(descriptor, 0, os.SEEK_SET)
    found.update(f"{os.fstat(descriptor).st_size} {time_ps}".encode())
    return found.hexdigest()


def _blocks(descriptor: int) -> Iterator[int]:
    """Where blocks begin that are not all hole."""
    at = 0
    try:
        while True:
            at = os.lseek(descriptor, at, os.SEEK_DATA) // BLOCK * BLOCK
            hole = os.lseek(descriptor, at, os.SEEK_HOLE)
            if hole <= at:  # the block begins with a hole
                hole = at + BLOCK
            while at < hole:
                yield at
                at += BLOCK
    except OSError as error:
        if error.errno != errno.ENXIO:  # behind the last data
            raise
