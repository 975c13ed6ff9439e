"""Child processes that cannot outlive this one, not even when it is killed by SIGKILL."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO

#: linux/prctl.h
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass
class Process:
    """A child in a session of its own, so that the terminal's ctrl-C reaches only the supervisor."""

    popen: subprocess.Popen[bytes]
    #: readable once the process has ended
    pidfd: int
    #: largest resident set [KiB], known when it has ended
    peak_kib: int = field(default=0)

    @classmethod
    def start(
        cls,
        arguments: Sequence[str],
        *,
        stdin: int | IO[bytes],
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
        inherit: Sequence[int],
    ) -> Process:
        """Start ``arguments``; the descriptors ``inherit`` keep their numbers."""
        supervisor = os.getpid()

        def die_with_supervisor() -> None:
            _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != supervisor:
                os._exit(1)

        popen = subprocess.Popen(
            arguments,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=tuple(inherit),
            start_new_session=True,
            preexec_fn=die_with_supervisor,
        )
        return cls(popen, os.pidfd_open(popen.pid))

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.popen.pid

    def ended(self) -> int | None:
        """The return code (negative: a signal) if it has ended."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        """The return code, once it has ended."""
        code = self._reap(0)
        assert code is not None
        return code

    def signal(self, number: int) -> None:
        """Send a signal, if it has not ended."""
        if self.ended() is None:
            os.kill(self.pid, number)

    def _reap(self, options: int) -> int | None:
        if self.popen.returncode is None:
            pid, status, usage = os.wait4(self.pid, options)
            if pid == 0:
                return None
            self.popen.returncode = os.waitstatus_to_exitcode(status)
            self.peak_kib = usage.ru_maxrss
            os.close(self.pidfd)
        return self.popen.returncode
