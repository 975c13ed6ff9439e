"""A recorded run, through the model once more: the same machine gives the same answers, bit for bit.

The model has a process of its own here too, so that ctrl-C is heard at any moment.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
from pathlib import Path
from typing import Any

from cxlab.machine import memory_file
from cxlab.machine.errors import ModelDied, ModelError
from cxlab.machine.interruption import Interruption
from cxlab.machine.process import Process
from cxlab.machine.progress import PERIOD, Progress
from cxlab.machine.sampling import Sample
from cxlab.machine.timeline import Timeline


def run(
    trace: Path,
    machine: str | None,
    interruption: Interruption,
    progress: Progress,
    *,
    timeline: Timeline | None = None,
    sample: Sample | None = None,
    placement: list[tuple[str, int]] | None = None,
) -> dict[str, Any]:
    """The model's summary, with ``answers_compared`` where nothing was sampled.

    ``machine`` is another one than the recorded one, ``placement`` says where the program's pages go instead
    (`cxlab.machine.placement.parse_again`); answers may then differ.

    Raises:
        ModelError: the trace or the machine is refused, or an answer differs.
        ModelDied: the model's process ended.
        Interrupted: somebody asked for an end.

    """
    with memory_file.create("model-result") as result, memory_file.create("model-stderr") as said:
        job_read, job_write = os.pipe()
        job = {
            "trace": str(trace),
            "machine": machine,
            "timeline": None if timeline is None else timeline.job(),
            "placement": placement,
            "sample": None if sample is None else sample.job(),
        }
        try:
            os.write(job_write, json.dumps(job).encode() + b"\n")
            os.close(job_write)
            command = [sys.executable, "-m", "cxlab.machine.model_process", "replay"]
            process = Process.start(command, stdin=job_read, stdout=result, stderr=said, inherit=[])
        finally:
            os.close(job_read)
        try:
            _await(process, interruption, progress)
        finally:
            progress.hide()
            process.signal(signal.SIGKILL)
            code = process.wait()
        answer = memory_file.last_json(result)
        if "error" in answer:
            raise ModelError(answer["error"]["code"], answer["error"]["message"])
        if "summary" not in answer:
            raise ModelDied(f"the model ended with status {code}: {memory_file.tail(said)}")
        summary: dict[str, Any] = answer["summary"]
        return summary


def _await(process: Process, interruption: Interruption, progress: Progress) -> None:
    with selectors.PollSelector() as selector:
        selector.register(process.pidfd, selectors.EVENT_READ)
        while process.ended() is None:
            progress.update()
            with interruption.allowed():
                selector.select(PERIOD)
