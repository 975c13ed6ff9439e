"""Landlock, a second wall, which the jail's own process puts up before it becomes QEMU or the model.

::

    bwrap -- python -I -S landlock.py WRITABLE... -- PROGRAM ARGUMENTS...
      reads and executes below /    the jail's tree, where nothing else is
      writes                        below WRITABLE, and to the null device
      no TCP, no device's ioctl, no abstract socket and no signal outside of this wall

The kernel checks these whatever the mounts say. An older kernel has fewer of them or none (`version`). The
process then has the jail alone. This file is executed by its path, so it imports nothing of CXLab. Source:
Linux, Documentation/userspace-api/landlock.rst.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import stat
import sys
from collections.abc import Sequence

#: System calls, equal on all architectures: Linux, include/uapi/asm-generic/unistd.h.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
#: The next three tables, and the numbers above `BITS`: Linux, include/uapi/linux/landlock.h.
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (1 << bit for bit in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = (1 << bit for bit in range(13, 16))
BIND_TCP, CONNECT_TCP = 1, 2
ABSTRACT_UNIX_SOCKET, SIGNAL = 1, 2
#: What the first version handles, and what a later one adds to it: files, network, scopes.
FIRST = MAKE_SYM | (MAKE_SYM - 1)
ADDED = {
    2: (REFER, 0, 0),
    3: (TRUNCATE, 0, 0),
    4: (0, BIND_TCP | CONNECT_TCP, 0),
    5: (IOCTL_DEV, 0, 0),
    6: (0, 0, ABSTRACT_UNIX_SOCKET | SIGNAL),
}
READS = EXECUTE | READ_FILE | READ_DIR
#: No device node, no socket and no FIFO is made anywhere.
WRITES = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SYM | REFER | TRUNCATE
#: Of these the kernel wants no other for a file that is no folder.
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
NULL_DEVICE = "/dev/null"
#: The kernel has no Landlock, or it was not switched on at boot.
ABSENT = (errno.ENOSYS, errno.EOPNOTSUPP)
#: prctl(2)
PR_SET_NO_NEW_PRIVS = 38
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    """struct landlock_ruleset_attr."""

    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    """struct landlock_path_beneath_attr."""

    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int | None:
    """The version of Landlock that this kernel has."""
    found = _LIBC.syscall(CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)
    if found >= 0:
        return int(found)
    number = ctypes.get_errno()
    if number in ABSENT:
        return None
    raise OSError(number, os.strerror(number))


def restrict(writable: Sequence[str]) -> None:
    """Put the wall up around this process and all that it will start, if the kernel has one.

    Raises:
        OSError: the kernel has one, and refuses.

    """
    kernel = version()
    if kernel is None:
        return
    added = [ADDED[number] for number in range(2, kernel + 1) if number in ADDED]
    files, network, scopes = (sum(column) for column in zip((FIRST, 0, 0), *added, strict=True))
    attributes = _Ruleset(files, network, scopes)
    # A kernel takes a longer structure than it knows if the rest is zeros.
    ruleset = _call(CREATE_RULESET, ctypes.byref(attributes), ctypes.sizeof(attributes), 0)
    try:
        _allow(ruleset, "/", READS & files)
        for path in writable:
            _allow(ruleset, path, (READS | WRITES) & files)
        if os.path.exists(NULL_DEVICE):
            _allow(ruleset, NULL_DEVICE, (READ_FILE | WRITE_FILE | TRUNCATE) & files)
        if _LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no new privileges")
        _call(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= OF_FILES
        _call(ADD_RULE, ruleset, RULE_PATH_BENEATH, ctypes.byref(_PathBeneath(rights, place)), 0)
    finally:
        os.close(place)


def _call(number: int, *arguments: object) -> int:
    result = _LIBC.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def _given_variables() -> dict[bytes, bytes]:
    """The environment that this process was started with: Python adds LC_CTYPE to its own (PEP 538)."""
    with open("/proc/self/environ", "rb") as file:
        pairs = [entry.partition(b"=") for entry in file.read().split(b"\0") if entry]
    return {name: value for name, _, value in pairs}


def main(arguments: list[str]) -> None:
    """Put the wall up, and become the program."""
    at = arguments.index("--")
    try:
        restrict(arguments[:at])
        # Python ignores these two, and a program inherits that.
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        os.execve(arguments[at + 1], arguments[at + 1 :], _given_variables())
    except OSError as error:
        raise SystemExit(f"landlock: {error}") from None


if __name__ == "__main__":
    main(sys.argv[1:])
