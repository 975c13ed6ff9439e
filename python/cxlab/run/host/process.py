"""Child processes, each in its jail. If this process ends, even by SIGKILL, they are killed."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from cxlab import lifeline
from cxlab.run.host.jail import Room

#: linux/prctl.h
PR_SET_NO_NEW_PRIVS = 38
_LIBC = ctypes.CDLL(None, use_errno=True)
#: What bwrap adds to a signal's number in its exit status, as a shell does.
SIGNALLED = 128


@dataclass(frozen=True)
class Limits:
    """Bounds that the kernel holds a process to (getrlimit(2)); None: as the caller's."""

    #: all that is mapped [bytes]
    address_space: int | None = None
    #: the largest file that it can write, shared memory included [bytes]
    file_size: int | None = None

    def apply(self) -> None:
        """Bind this process; a core dump would hold the guest's memory."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for kind, limit in (
            (resource.RLIMIT_AS, self.address_space),
            (resource.RLIMIT_FSIZE, self.file_size),
        ):
            hard = resource.getrlimit(kind)[1]
            if limit is not None and (hard == resource.RLIM_INFINITY or limit < hard):
                resource.setrlimit(kind, (limit, limit))


@dataclass
class Process:
    """A child in a session of its own, so that the terminal's ctrl-C reaches only the supervisor.

    In a jail the child is bwrap, which ends as the process in the jail does: that one is signalled.
    """

    popen: subprocess.Popen[bytes]
    #: of the process itself, not of the jail's; the one that `/proc` knows
    pid: int
    #: readable once the child has ended
    pidfd: int
    #: of the process in the jail; None: there is no jail
    jailed: int | None
    #: largest resident set [KiB], known when it has ended
    peak_kib: int = field(default=0)

    @classmethod
    def start(
        cls,
        arguments: Sequence[str],
        room: Room,
        *,
        stdin: int | IO[bytes],
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
        inherit: Sequence[int],
        folder: Path = Path("/"),
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        ignored: Sequence[int] = (),
    ) -> Process:
        """Start ``arguments`` in ``room``; the descriptors ``inherit`` keep their numbers.

        The signals ``ignored`` are so from its first instruction on.
        """
        supervisor = os.getpid()
        bounds, variables = limits or Limits(), dict(environment or {})

        def bind() -> None:
            lifeline.die_with(supervisor)
            _LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            bounds.apply()
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)

        information, write_end = os.pipe()
        try:
            command = room.command(arguments, folder, variables, write_end)
            popen = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(*inherit, write_end),
                start_new_session=True,
                preexec_fn=bind,
                cwd=folder,
                env=variables,
            )
        finally:
            os.close(write_end)
        with os.fdopen(information) as told:
            jailed = _jailed(told.read() if command[0] != arguments[0] else "")
        pid, descriptor = (popen.pid, None) if jailed is None else jailed
        return cls(popen, pid, os.pidfd_open(popen.pid), descriptor)

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
            # In the jail it may have ended a moment before bwrap notices.
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd if self.jailed is None else self.jailed, number)

    def _reap(self, options: int) -> int | None:
        if self.popen.returncode is None:
            pid, status, usage = os.wait4(self.popen.pid, options)
            if pid == 0:
                return None
            code = os.waitstatus_to_exitcode(status)
            self.popen.returncode = SIGNALLED - code if self.jailed is not None and code > SIGNALLED else code
            self.peak_kib = usage.ru_maxrss
            os.close(self.pidfd)
            if self.jailed is not None:
                os.close(self.jailed)
        return self.popen.returncode


def _jailed(information: str) -> tuple[int, int] | None:
    """The process that bwrap tells of, and its descriptor; None if it made none: it says why, and ends."""
    if not information:
        return None
    try:
        pid: int = json.loads(information)["child-pid"]
        return pid, os.pidfd_open(pid)
    except ProcessLookupError:
        return None
