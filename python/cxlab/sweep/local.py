"""Runs on this computer: a process for each processor, each given the next run when it has answered.

If this process is interrupted or killed, its workers are killed, and so are their guests. A run's file is
whole or absent, so nothing is lost but the runs under way.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO

from cxlab import lifeline
from cxlab.run.interruption import Interruption
from cxlab.sweep import worker
from cxlab.sweep.folder import SweepFolder
from cxlab.sweep.plan import Run

#: Between two looks for an interruption [s].
PERIOD = 1.0


def run_all(
    runs: Sequence[Run],
    folder: SweepFolder,
    interruption: Interruption,
    advance: Callable[[], None],
    processes: int | None = None,
) -> dict[str, str]:
    """Execute all runs; why each of them failed that did, by its name.

    Raises:
        Interrupted: somebody asked for an end.

    """
    count = min(len(runs), processes or len(os.sched_getaffinity(0)))
    failed: dict[str, str] = {}
    waiting = iter(runs)
    with _workers(count) as workers, selectors.DefaultSelector() as selector:
        for one in workers:
            _give(one, next(waiting), folder, selector)
        while selector.get_map():
            with interruption.allowed():
                ready = selector.select(PERIOD)
            for key, _ in ready:
                one, run = key.data
                selector.unregister(key.fileobj)
                answer = _stream(one.stdout).readline()
                if not answer:
                    failed[run.name] = f"its process ended with status {one.wait()}"
                    continue
                if answer.strip():
                    failed[run.name] = answer.strip()
                advance()
                following = next(waiting, None)
                if following is not None:
                    _give(one, following, folder, selector)
    # If a process died, what nobody was given is still to do.
    left = list(waiting)
    if left:
        failed |= run_all(left, folder, interruption, advance, processes)
    return failed


def _give(
    one: subprocess.Popen[str], run: Run, folder: SweepFolder, selector: selectors.BaseSelector
) -> None:
    stdin = _stream(one.stdin)
    # Of a worker that has died, the end of its answers tells.
    with suppress(BrokenPipeError):
        stdin.write(worker.line_of(run, folder) + "\n")
        stdin.flush()
    selector.register(_stream(one.stdout), selectors.EVENT_READ, (one, run))


@contextmanager
def _workers(count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """So many processes, which are gone afterwards."""
    workers: list[subprocess.Popen[str]] = []
    bound = lifeline.of_this_process()

    def begin() -> None:
        # Whoever interrupts means the sweep, which ends its workers.
        bound()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    try:
        for _ in range(count):
            workers.append(
                subprocess.Popen(
                    [sys.executable, "-m", "cxlab.sweep.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    # The terminal's ctrl-C is for this process; it ends the workers.
                    start_new_session=True,
                    preexec_fn=begin,
                )
            )
        yield workers
    finally:
        for one in workers:
            one.kill()
        for one in workers:
            one.wait()
            for stream in (one.stdin, one.stdout):
                _close(_stream(stream))


def _close(stream: IO[str]) -> None:
    # A killed worker has not read all lines.
    with suppress(BrokenPipeError):
        stream.close()


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream is not None, "a worker has pipes"
    return stream
