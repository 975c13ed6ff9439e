"""Simulates candidates. Each is a folder of files, and its points run in parallel processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from types import TracebackType
from typing import Protocol

from cxlab import lifeline, model
from cxlab.asked_machine import keys_of
from cxlab.bench.request import SEED
from cxlab.border import BenchJob, BenchPoint
from cxlab.calibrate.machine_files import MachineFiles
from cxlab.calibrate.observation import Observation
from cxlab.calibrate.parameter import Parameter
from cxlab.error import Code, InputError, RefusedByModel

#: Values of the parameters, in their order.
Candidate = tuple[float, ...]


class Watch(Protocol):
    """Hears how far the simulation is."""

    def expect(self, points: int) -> None:
        """So many points will run."""
        ...

    def advance(self) -> None:
        """One point has run."""
        ...


class Simulator:
    """Runs observations on candidates; nothing runs twice."""

    def __init__(self, files: MachineFiles, parameters: Sequence[Parameter], watch: Watch) -> None:
        """Take as many processes as there are CPUs."""
        self._files, self._parameters, self._watch = files, parameters, watch
        self._known: dict[tuple[Candidate, str], BenchPoint] = {}
        # No fork: the caller may have threads.
        processes = multiprocessing.get_context("spawn")
        self.workers = len(os.sched_getaffinity(0))
        self._pool = ProcessPoolExecutor(
            self.workers, mp_context=processes, initializer=_begin, initargs=(os.getpid(),)
        )
        self.points_run = 0

    def __enter__(self) -> Simulator:
        """Return the simulator, which the end of the block closes."""
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """End the processes; points that run are not waited for."""
        workers = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()

    def run(
        self, candidates: Sequence[Sequence[float]], observations: Sequence[Observation], seed: int = SEED
    ) -> list[list[BenchPoint]]:
        """Points, by candidate and observation.

        Raises:
            InputError: the model refuses a candidate.

        """
        settled = [self.settled(candidate) for candidate in candidates]
        jobs = [json.dumps({**o.job, "seed": seed}, sort_keys=True) for o in observations]
        missing = dict.fromkeys((c, job) for c in settled for job in jobs if (c, job) not in self._known)
        self._watch.expect(len(missing))
        futures: dict[Future[BenchPoint], tuple[Candidate, str]] = {}
        for candidate, job in missing:
            asked = self._files.candidate(self.leaf_values(candidate))
            whole: BenchJob = {**json.loads(job), **keys_of(asked)}  # type: ignore[typeddict-item]
            futures[self._pool.submit(model.bench_point, whole)] = (candidate, job)
        # What has not been run when one fails is cancelled with the pool. If a future were cancelled here,
        # the thread of Python 3.11's pool would end with a traceback: it cannot break such a future.
        try:
            for future in as_completed(futures):
                self._known[futures[future]] = future.result()
                self.points_run += 1
                self._watch.advance()
        except RefusedByModel as error:
            raise InputError(Code.REFUSED, "the machine", str(error), "narrower bounds: --free") from None
        return [[self._known[candidate, job] for job in jobs] for candidate in settled]

    def settled(self, candidate: Sequence[float]) -> Candidate:
        """Return the workload as it is simulated."""
        return tuple(p.settled(value) for p, value in zip(self._parameters, candidate, strict=True))

    def leaf_values(self, candidate: Sequence[float]) -> Mapping[str, float]:
        """Numbers of the machine's files, by name."""
        pairs = zip(self._parameters, candidate, strict=True)
        return {name: number for p, value in pairs for name, number in p.values(value).items()}


def _begin(parent: int) -> None:
    """Die with the parent, whatever ended it: other workers hold the pipe that a worker waits at."""
    lifeline.die_with(parent)
    _leave_signals()


def _leave_signals() -> None:
    """Ctrl-C is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
