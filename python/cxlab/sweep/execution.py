"""One run: its tasks are executed, and its rows become a Parquet file.

A row is one statistic of one point::

    run   machine  settings         placement  workload  seed  point  statistic                value
    3f..  m.toml   {fifo: 52}       cxl        idle      1            latency_ns               284.1
    3f..  m.toml   {fifo: 52}       cxl        idle      1            nodes.cxl.read_mb_s      212.9

Two executions of a run write the same bytes: the model's results depend on nothing of the host.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cxlab import lifeline, model
from cxlab.border import RunResult
from cxlab.file_format import KEY, Format
from cxlab.output import whole
from cxlab.sweep.workload import Task

#: Lines of a failed guest that are told.
TOLD_LINES = 5


class Failed(Exception):
    """A run gave no result."""


def execute(axes: Mapping[str, Any], tasks: Sequence[Task], file: Path, scratch: Path) -> None:
    """Execute the tasks of a run and write ``file``, whole or not at all.

    Raises:
        Failed: a guest's program or the simulator failed.
        RefusedByModel: the model refuses a job.

    """
    results = [(task.point, _result(task, scratch)) for task in tasks]
    rows = [(point, *row) for point, result in results for row in statistics(result)]
    _write(axes, rows, file)


def statistics(document: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a result by its path, in the result's order; truth is 1 or 0."""
    match document:
        case dict():
            for key, value in document.items():
                yield from statistics(value, f"{path}.{key}" if path else str(key))
        case list():
            for place, value in enumerate(document):
                yield from statistics(value, f"{path}.{place}")
        case int() | float():
            yield path, float(document)


def _result(task: Task, scratch: Path) -> dict[str, Any]:
    match task.kind:
        case "bench":
            return model.document(model.bench_point(task.job))
        case "replay":
            return _of_run(json.loads(model.replay(json.dumps(task.job))))
        case _:
            return _of_guest(task.job, scratch)


def _of_run(document: dict[str, Any]) -> dict[str, Any]:
    """Return the model's figures without the counters of each part (`cxlab run --stats` prints those)."""
    kept = model.document(model.run_result(document))
    return {key: value for key, value in kept.items() if key != "statistics"}


def _of_guest(job: Mapping[str, Any], scratch: Path) -> dict[str, Any]:
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "cxlab", "run", "--out", str(out), *job["arguments"]]
        done = subprocess.run(
            command,
            cwd=job["folder"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            preexec_fn=lifeline.of_this_process(),
            check=False,
        )
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines()[-TOLD_LINES:]
            raise Failed(f"`cxlab run` ended with status {done.returncode}: " + " / ".join(said))
        summary = (out / "summary.json").read_bytes()
        # Beside the model's result a summary has what the host took, which no two runs share.
        return _of_run(model.document(msgspec.json.decode(summary, type=RunResult)))


def _write(axes: Mapping[str, Any], rows: Sequence[tuple[str, str, float]], file: Path) -> None:
    # The import takes half a second.
    import pyarrow
    from pyarrow import parquet

    count = len(rows)
    text, words = pyarrow.string(), pyarrow.map_(pyarrow.string(), pyarrow.string())
    columns: dict[str, Any] = {
        key: pyarrow.array([axes[key]] * count, text) for key in ("run", "machine", "placement", "workload")
    }
    columns["settings"] = pyarrow.array([list(axes["settings"].items())] * count, words)
    columns["seed"] = pyarrow.array([axes["seed"]] * count, pyarrow.int64())
    columns["point"] = pyarrow.array([row[0] for row in rows], text)
    columns["statistic"] = pyarrow.array([row[1] for row in rows], text)
    columns["value"] = pyarrow.array([row[2] for row in rows], pyarrow.float64())
    with whole(file) as output:
        parquet.write_table(pyarrow.table(columns).replace_schema_metadata({KEY: Format.ROWS.value}), output)
