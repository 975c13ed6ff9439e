"""A process that executes runs: ``python -m cxlab.sweep.worker``.

Each line of its standard input is one run, as `line_of` writes it. It answers each by one line: an empty one,
or why the run failed. It dies with the process that started it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from cxlab.error import InputError, MachineError
from cxlab.sweep import execution
from cxlab.sweep.folder import SweepFolder
from cxlab.sweep.plan import Run
from cxlab.sweep.workload import Task


def line_of(run: Run, folder: SweepFolder) -> str:
    """A run as a worker reads it."""
    tasks = [asdict(task) for task in run.tasks]
    return json.dumps({"axes": run.axes(), "tasks": tasks, "folder": str(folder.path.resolve())})


def execute(line: str) -> str:
    """Execute a run: an empty text, or why it failed. A run that has its file is not executed."""
    asked = json.loads(line)
    folder = SweepFolder(Path(asked["folder"]))
    file = folder.file(asked["axes"]["run"])
    if file.exists():
        return ""
    tasks = [Task(**task) for task in asked["tasks"]]
    try:
        execution.execute(asked["axes"], tasks, file, folder.scratch)
    except (execution.Failed, InputError, MachineError) as error:
        return str(error).replace("\n", " / ")
    return ""


def main() -> None:
    """Serve until there is no other line."""
    for line in sys.stdin:
        print(execute(line), flush=True)


if __name__ == "__main__":
    main()
