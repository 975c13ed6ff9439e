"""Chooses the source of the program's standard input by the kind of the host's."""

from __future__ import annotations

import fcntl
import os
import stat

from cxlab.run.guest.protocol import FileInput, Input, NullInput, StreamInput
from cxlab.run.program_file import GUEST_TREES


def classify(descriptor: int = 0) -> Input:
    """How the guest gets at ``descriptor``.

    A regular file is opened by the guest itself, at the same offset: no byte is pumped, and two runs do the
    same. Everything else but /dev/null is a stream.
    """
    try:
        status = os.fstat(descriptor)
    except OSError:
        # Closed: programs expect a descriptor 0 all the same.
        return NullInput()
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat("/dev/null").st_rdev:
        return NullInput()
    readable = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_WRONLY
    if stat.S_ISREG(status.st_mode) and readable:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if _is(path, status) and not path.startswith(GUEST_TREES):
            return FileInput(path, os.lseek(descriptor, 0, os.SEEK_CUR))
    return StreamInput()


def _is(path: str, status: os.stat_result) -> bool:
    """Whether ``path`` still leads to that very file: it may have been deleted or replaced."""
    try:
        return os.path.samestat(os.stat(path), status)
    except OSError:
        return False
