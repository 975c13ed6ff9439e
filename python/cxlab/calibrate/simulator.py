"""Candidates through the simulator: each is a folder of files; its points run in parallel processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from cxlab.bench.request import SEED
from cxlab.calibrate.error import CalibrationError, Code
from cxlab.calibrate.machine_files import MachineFiles
from cxlab.calibrate.observation import Observation
from cxlab.calibrate.parameter import Parameter
from cxlab.machine import description

#: Values of the parameters, in their order.
Candidate = tuple[float, ...]
Point = dict[str, Any]


class Watch(Protocol):
    """Who wants to know how far it is."""

    def expect(self, points: int) -> None:
        """So many points will run."""
        ...

    def advance(self) -> None:
        """One has run."""
        ...


class Simulator:
    """Runs observations on candidates; nothing runs twice."""

    def __init__(self, files: MachineFiles, parameters: Sequence[Parameter], watch: Watch) -> None:
        """Take as many processes as there are CPUs."""
        self._files, self._parameters, self._watch = files, parameters, watch
        self._known: dict[tuple[Candidate, str], Point] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="cxlab-calibrate-")
        # No fork: the caller may have threads.
        processes = multiprocessing.get_context("spawn")
        self.workers = len(os.sched_getaffinity(0))
        self._pool = ProcessPoolExecutor(self.workers, mp_context=processes, initializer=_leave_signals)
        self.points_run = 0

    def __enter__(self) -> Simulator:
        """To be closed at the end."""
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """End the processes; points that run are not waited for."""
        workers = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
        self._folder.cleanup()

    def run(
        self, candidates: Sequence[Sequence[float]], observations: Sequence[Observation], seed: int = SEED
    ) -> list[list[Point]]:
        """Points, by candidate and observation.

        Raises:
            CalibrationError: the model refuses a candidate.

        """
        settled = [self.settled(candidate) for candidate in candidates]
        jobs = [json.dumps({**o.job, "seed": seed}, sort_keys=True) for o in observations]
        missing = dict.fromkeys((c, job) for c in settled for job in jobs if (c, job) not in self._known)
        self._watch.expect(len(missing))
        paths = {candidate: self._write(candidate) for candidate, _ in missing}
        futures: dict[Future[str], tuple[Candidate, str]] = {}
        for candidate, job in missing:
            text = json.dumps({**json.loads(job), "machine": str(paths[candidate])})
            futures[self._pool.submit(_point, text)] = (candidate, job)
        try:
            for future in as_completed(futures):
                self._known[futures[future]] = json.loads(future.result())
                self.points_run += 1
                self._watch.advance()
        except _Refused as error:
            raise CalibrationError(
                Code.REFUSED, "the machine", str(error), "narrower bounds: --free"
            ) from None
        finally:
            for future in futures:
                future.cancel()
        return [[self._known[candidate, job] for job in jobs] for candidate in settled]

    def settled(self, candidate: Sequence[float]) -> Candidate:
        """As it is simulated."""
        return tuple(p.settled(value) for p, value in zip(self._parameters, candidate, strict=True))

    def leaf_values(self, candidate: Sequence[float]) -> Mapping[str, float]:
        """Numbers of the machine's files, by name."""
        pairs = zip(self._parameters, candidate, strict=True)
        return {name: number for p, value in pairs for name, number in p.values(value).items()}

    def _write(self, candidate: Candidate) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self._folder.name))
        values = self.leaf_values(candidate)
        sources = dict.fromkeys(values, "a candidate of a calibration")
        return self._files.write(folder / "machine.toml", values, sources, "a candidate")[-1]


class _Refused(Exception):
    """The model does not take a job; its text crosses from process to process."""


def _point(job: str) -> str:
    model = description.model()
    try:
        return model.bench_point(job)
    except model.CxlabError as error:
        raise _Refused(str(error)) from None


def _leave_signals() -> None:
    """Ctrl-C is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
