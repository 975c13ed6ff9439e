"""Runs on a cluster: tasks of Slurm, through submitit, each of many runs.

DIR must be on a file system that the cluster's nodes share, and CXLab must be installed there too. If this
process is killed, submitted tasks go on. The same command finds them in DIR/slurm.json and waits for them
before it submits what is left. Ctrl-C cancels them.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from cxlab.error import Code, InputError
from cxlab.file_format import Format
from cxlab.output import write_json
from cxlab.run.interruption import Interrupted, Interruption
from cxlab.sweep import worker
from cxlab.sweep.file import SlurmSettings
from cxlab.sweep.folder import SweepFolder
from cxlab.sweep.plan import Run

#: Between two looks at the tasks [s].
PERIOD = 1.0
#: Looks that fail one after the other until Slurm is taken to be gone.
ATTEMPTS = 10
#: Until a result that is not seen is taken for lost [s].
LATE = 10.0
SUBMITTED = "slurm.json"


def execute_all(lines: Sequence[str]) -> list[str]:
    """Execute the runs of a task. Returns each run's answer."""
    return [worker.execute(line) for line in lines]


def run_all(
    runs: Sequence[Run],
    folder: SweepFolder,
    settings: SlurmSettings,
    interruption: Interruption,
    told: Callable[[str], None],
) -> dict[str, str]:
    """Execute all runs; why each of them failed that did, by its name.

    Raises:
        Interrupted: somebody asked for an end; the tasks are cancelled.
        InputError: submitit or Slurm is not there, or no longer answers.

    """
    submitit = _submitit()
    record = folder.path / SUBMITTED
    jobs = [submitit.SlurmJob(folder=_logs(folder), job_id=name) for name in _submitted(record)]
    if jobs:
        told(f"waiting for {len(jobs)} tasks that were submitted before")
        _wait(jobs, interruption)
    pending = folder.pending(runs)
    count = settings.runs_per_task
    chunks = [pending[start : start + count] for start in range(0, len(pending), count)]
    jobs = _submit(submitit, chunks, folder, settings) if chunks else []
    write_json(record, {"tasks": [job.job_id for job in jobs]}, Format.SLURM)
    told(f"submitted {len(jobs)} tasks of up to {count} runs")
    _wait(jobs, interruption)
    _await_results(jobs)
    failed: dict[str, str] = {}
    for job, chunk in zip(jobs, chunks, strict=True):
        failed |= _failures(job, chunk)
    record.unlink()
    return failed


def _submit(
    submitit: Any, chunks: Sequence[Sequence[Run]], folder: SweepFolder, settings: SlurmSettings
) -> list[Any]:
    try:
        executor = submitit.AutoExecutor(folder=_logs(folder), cluster="slurm")
        executor.update_parameters(
            name="cxlab-sweep",
            timeout_min=settings.minutes,
            cpus_per_task=1,
            **({} if settings.partition is None else {"slurm_partition": settings.partition}),
        )
        lines = [[worker.line_of(run, folder) for run in chunk] for chunk in chunks]
        jobs: list[Any] = executor.map_array(execute_all, lines)
    except (RuntimeError, OSError, submitit.core.utils.FailedJobError) as error:
        valid = "a host of a Slurm cluster with sbatch, or --on local"
        raise InputError(Code.SWEEP, "--on slurm", str(error), valid) from None
    return jobs


def _queued() -> set[str]:
    """Tasks that wait or run. submitit asks for the accounting, which many clusters do not keep."""
    asked = ["squeue", "--noheader", "--array", "--format=%F_%K"]
    for attempt in range(ATTEMPTS):
        done = subprocess.run(asked, check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return set(done.stdout.split())
        # A controller that starts anew is away for a while.
        if attempt + 1 < ATTEMPTS:
            time.sleep(PERIOD)
    raise InputError(
        Code.SWEEP,
        "--on slurm",
        f"squeue does not answer: {done.stderr.strip()}",
        "a host whose Slurm controller runs; what was submitted goes on, and the same command takes it up",
    )


def _wait(jobs: Sequence[Any], interruption: Interruption) -> None:
    try:
        while jobs and _queued() & {job.job_id for job in jobs}:
            with interruption.allowed():
                time.sleep(PERIOD)
    except Interrupted:
        for job in jobs:
            job.cancel(check=False)
        raise


def _await_results(jobs: Sequence[Any]) -> None:
    """A shared file system may show a task's result a little late."""
    until = time.monotonic() + LATE
    while time.monotonic() < until and not all(job.paths.result_pickle.exists() for job in jobs):
        time.sleep(PERIOD / 10)


def _failures(job: Any, chunk: Sequence[Run]) -> dict[str, str]:
    if not job.paths.result_pickle.exists():
        why = f"the task {job.job_id} ended without a result; its words are in {job.paths.stderr}"
        return {run.name: why for run in chunk}
    error = job.exception()
    if error is not None:
        why = str(error).strip().splitlines()[-1]
        return {run.name: f"the task {job.job_id} failed: {why}" for run in chunk}
    answers: list[str] = job.result()
    return {run.name: answer for run, answer in zip(chunk, answers, strict=True) if answer}


class Submitted(Struct, frozen=True):
    """Content of DIR/slurm.json."""

    #: Slurm's own ids
    tasks: list[str]


def _submitted(record: Path) -> list[str]:
    """Tasks of a sweep that was killed."""
    if not record.exists():
        return []
    return msgspec.json.decode(record.read_bytes(), type=Submitted).tasks


def _logs(folder: SweepFolder) -> Path:
    # Not in scratch: what is submitted outlives this process.
    return folder.path.resolve() / "slurm"


def _submitit() -> Any:
    try:
        import submitit
    except ImportError:
        valid = "submitit, by `.venv/bin/pip install submitit`"
        raise InputError(Code.SWEEP, "--on slurm", "submitit is not installed", valid) from None
    return submitit
