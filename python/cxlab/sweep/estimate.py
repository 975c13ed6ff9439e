"""Estimates how long a sweep takes. It executes each workload's first pending run once, and drops the
result.

A guest's program may take hours, so it is not executed: the estimate then names it as unknown.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cxlab.error import Code, InputError, MachineError
from cxlab.sweep import execution
from cxlab.sweep.plan import Run

#: A run so short is measured twice [s].
SHORT = 2.0


@dataclass(frozen=True)
class Estimate:
    """Time that a sweep's pending runs take."""

    #: of one processor [s], without the workloads below
    seconds: float
    #: workloads whose time is not known before one has run
    unknown: Sequence[str]

    def on(self, processors: int) -> float:
        """Time with so many processors [s]."""
        return self.seconds / processors


def of(pending: Sequence[Run]) -> Estimate:
    """Estimate the time of pending runs: one run of each workload is measured."""
    first = {run.workload: run for run in reversed(pending)}
    known = {name: run for name, run in first.items() if all(task.kind != "run" for task in run.tasks)}
    took: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="cxlab-sweep-") as folder:
        for name, run in known.items():
            took[name] = _measured(run, Path(folder))
            if took[name] < SHORT:
                # The first one loads what every process loads once.
                took[name] = _measured(run, Path(folder))
    seconds = sum(took.get(run.workload, 0.0) for run in pending)
    return Estimate(seconds, sorted(set(first) - set(known)))


def _measured(run: Run, folder: Path) -> float:
    began = time.monotonic()
    try:
        execution.execute(run.axes(), run.tasks, folder / "run.parquet", folder)
    except (InputError, MachineError) as error:
        raise InputError(Code.SWEEP, run.text(), str(error), "a run that ends") from None
    return time.monotonic() - began
