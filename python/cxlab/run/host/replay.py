"""Replays a recorded run through the model. The same machine gives the same answers, bit for bit.

The model has a process of its own here too, so that ctrl-C is heard at any moment. It tells how far it has
come through a pipe, a line at a time.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import msgspec

from cxlab import model
from cxlab.asked_machine import AskedMachine, settings_of
from cxlab.border import ReplayJob, RunResult, SoFar
from cxlab.run.errors import ModelDied, ModelError
from cxlab.run.host import answer, memory_file, model_job
from cxlab.run.host.jail import Confinement
from cxlab.run.host.process import Process
from cxlab.run.host.progress import PERIOD, Progress
from cxlab.run.interruption import Interruption
from cxlab.run.options.sampling import Sample
from cxlab.run.options.timeline import Timeline
from cxlab.whole_file import WholeFile

#: Phases: the trace is checked from end to end before anything is simulated.
READING, REPLAYING = "reading the trace", "replaying"
#: What a pipe holds (pipe(7)) [bytes].
MOST_REPORTS = 1 << 16


def run(
    trace: Path,
    machine: AskedMachine | None,
    confinement: Confinement,
    interruption: Interruption,
    progress: Progress,
    *,
    timeline: Timeline | None = None,
    sample: Sample | None = None,
    placement: list[tuple[str, int]] | None = None,
    profile: Path | None = None,
    check: bool = False,
) -> RunResult:
    """The model's summary, with ``answers_compared`` where nothing was sampled.

    ``machine`` is another one than the recorded one, ``placement`` says where the program's pages go instead
    (`cxlab.run.options.placement.parse_again`); answers may then differ.

    Raises:
        ModelError: the trace or the machine is refused, or an answer differs.
        ModelDied: the model's process ended.
        Interrupted: somebody asked for an end.

    """
    with ExitStack() as resources:
        result, said = (
            resources.enter_context(memory_file.create(name)) for name in ("model-result", "model-stderr")
        )
        drawn = None if timeline is None else WholeFile(timeline.file)
        if drawn is not None:
            resources.callback(drawn.discard)
        kept = None if profile is None else WholeFile(profile)
        if kept is not None:
            resources.callback(kept.discard)
        reports = resources.enter_context(_Reports())
        room = confinement.room()
        job: ReplayJob = {
            "trace": str(room.reads(trace)),
            "machine": str(machine) if machine else None,
            "set": settings_of(machine),
            "timeline": None if timeline is None or drawn is None else timeline.job(drawn.fileno()),
            "placement": placement,
            "sample": None if sample is None else sample.job(),
            "profile": None if kept is None else {"fd": kept.fileno(), "path": str(profile)},
            "check": check,
            "progress": {"fd": reports.write_end, "every_ms": round(PERIOD * 1e3)},
        }
        asked = resources.enter_context(model_job.JobPipe())
        process = Process.start(
            model_job.command("replay"),
            room,
            stdin=asked.read_end,
            stdout=result,
            stderr=said,
            inherit=[reports.write_end, *(file.fileno() for file in (drawn, kept) if file is not None)],
            folder=Path.cwd(),
            environment=model_job.environment(),
            ignored=model_job.IGNORED,
        )
        asked.send(json.dumps(job).encode() + b"\n")
        try:
            _await(process, interruption, progress, reports)
        finally:
            progress.hide()
            process.signal(signal.SIGKILL)
            code = process.wait()
        summary = _summary(result, said, code)
        for file in (drawn, kept):
            if file is not None:
                file.commit()
        return summary


def _summary(result: IO[bytes], said: IO[bytes], code: int) -> RunResult:
    """Read the result of the model's process.

    Raises:
        ModelError: it refused the job.
        ModelDied: it left nothing.

    """
    found = answer.of(result)
    if found.error is not None:
        raise ModelError(found.error.code, found.error.message)
    if found.summary is None:
        raise ModelDied(f"the model ended with status {code}: {memory_file.tail(said)}")
    return model.run_result(found.summary)


class _Reports:
    """A pipe of lines from the model: how far it has come. Neither end waits for the other."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> _Reports:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.read_end)
        os.close(self.write_end)

    def last(self) -> SoFar | None:
        """The last line since this was asked; a line comes whole."""
        try:
            lines = os.read(self.read_end, MOST_REPORTS).splitlines()
        except BlockingIOError:
            return None
        return msgspec.json.decode(lines[-1], type=SoFar)


def _await(process: Process, interruption: Interruption, progress: Progress, reports: _Reports) -> None:
    with selectors.PollSelector() as selector:
        selector.register(process.pidfd, selectors.EVENT_READ)
        while process.ended() is None:
            if (so_far := reports.last()) is not None:
                if progress.phase == READING:
                    progress.enter(REPLAYING)
                progress.learn(so_far)
            progress.update()
            with interruption.allowed():
                selector.select(PERIOD)
