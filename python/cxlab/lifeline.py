"""The lifeline of a child process: if its parent ends, even by SIGKILL, the kernel ends the child."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

#: linux/prctl.h
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Have this process get the signal when its parent ends; end now if the parent has ended already."""
    _LIBC.prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def of_this_process(number: int = signal.SIGKILL) -> Callable[[], None]:
    """Return the function that a child of this process calls before its program starts."""
    parent = os.getpid()
    return lambda: die_with(parent, number)
