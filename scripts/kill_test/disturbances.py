"""Disturbances: a signal to one of a command's processes, or a disk that fills up under it."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress

from cxlab.run.guest import cache
from disks import size, small_disk
from judge import End, Verdict, judge
from modes import CACHE
from processes import orphans, send, wait
from references import Reference
from tries import FULL, Try
from workplaces import Workplace, half_files

#: On a full disk, what has no end of its own is cut after this [s].
CUT_SECONDS = 2.0


def disturb(place: Workplace, reference: Reference, what: Try) -> Verdict:
    """Disturb one run, and judge it."""
    place.clear()
    return (_fill if what.signal == FULL else _signal)(place, reference, what)


def _signal(place: Workplace, reference: Reference, what: Try) -> Verdict:
    begun = time.monotonic()
    with place.started() as popen:
        with suppress(subprocess.TimeoutExpired):
            popen.wait(what.moment * reference.seconds)
            # It ended before its moment: the reference was made while the host had more to do.
            reference.seconds = min(reference.seconds, time.monotonic() - begun)
        below = send(popen, what)
        interrupt = place.mode.cut_after is not None and what.signal == "SIGSTOP"
        status, found = wait(popen, reference.longest, interrupt=interrupt)
    found += orphans(below or {})
    killed = what.kills_the_supervisor and below is not None
    if not killed:
        found += _half_files(place)
    return judge(place, reference, End(status, below is not None, killed, found))


def _fill(place: Workplace, reference: Reference, what: Try) -> Verdict:
    # The judge looks while the small disk is still there.
    limit = int(what.moment * reference.sizes[what.target])
    disk, environment = place.folder, {}
    if what.target == CACHE:
        disk = place.cache
        disk.mkdir(exist_ok=True, parents=True)
        environment["XDG_CACHE_HOME"] = str(disk)
        limit += size(cache.folder() / "kernel")
    with small_disk(disk, limit):
        if what.target == CACHE:
            place.fill_cache()
        with place.started(environment) as popen:
            cut = place.mode.cut_after
            if cut is not None:
                time.sleep(min(CUT_SECONDS, cut))
            status, found = wait(popen, reference.longest, interrupt=cut is not None)
        end = End(status, disturbed=True, killed=False, found=found + _half_files(place))
        return judge(place, reference, end)


def _half_files(place: Workplace) -> list[str]:
    found = [*half_files(place.folder), *half_files(place.cache)]
    return [f"half a file: {name}" for name in found]
