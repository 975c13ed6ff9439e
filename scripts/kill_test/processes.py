"""Processes: those below a command, a signal to one of them, and whether they end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from modes import SUPERVISOR
from tries import Try

#: How long a stopped process stays so [s].
STOPPED_SECONDS = 2.0
#: Processes end within this of the supervisor [s].
END_SECONDS = 15.0


def descendants(pid: int) -> dict[int, str]:
    """Processes below ``pid``, and their names."""
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        children.setdefault(int(rest.split()[1]), []).append(int(folder.name))
        names[int(folder.name)] = name.partition("(")[2]
    found: dict[int, str] = {}
    queue = [pid]
    while queue:
        for child in children.get(queue.pop(), ()):
            found[child] = names[child]
            queue.append(child)
    return found


def alive(pid: int, name: str) -> bool:
    """Whether the process is still there, and no zombie."""
    try:
        found, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return False
    return found.partition("(")[2] == name and rest.split()[0] not in "ZX"


def orphans(below: dict[int, str]) -> list[str]:
    """A defect for each process that outlives the supervisor."""
    until = time.monotonic() + END_SECONDS
    while (left := [name for pid, name in below.items() if alive(pid, name)]) and time.monotonic() < until:
        time.sleep(0.05)
    return [f"still running: {name}" for name in left]


def send(popen: subprocess.Popen[bytes], what: Try) -> dict[int, str] | None:
    """Send the signal once the target is there: what was below then; None: the command had ended."""
    number = signal.Signals[what.signal]
    while popen.poll() is None:
        below = descendants(popen.pid)
        pid = popen.pid if what.target == SUPERVISOR else _named(below, what.target)
        if pid is not None:
            return below if _sent(pid, number) else None
        time.sleep(0.001)
    return None


def _named(below: dict[int, str], target: str) -> int | None:
    """The last one that has the target's name; a QEMU that only tells its version is not meant."""
    for pid, name in reversed(below.items()):
        with suppress(OSError):
            if name.startswith(target) and b"--version" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
    return None


def _sent(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
        if number == signal.SIGSTOP:
            time.sleep(STOPPED_SECONDS)
            os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        return False
    return True


def wait(popen: subprocess.Popen[bytes], limit: float, *, interrupt: bool) -> tuple[int | None, list[str]]:
    """Wait for its status; a process that does not end within ``limit`` seconds is a defect."""
    if interrupt:
        popen.send_signal(signal.SIGINT)
    try:
        return popen.wait(limit), []
    except subprocess.TimeoutExpired:
        popen.kill()
        popen.wait()
        return None, [f"it did not end within {limit:.0f} s"]
