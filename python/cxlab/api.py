"""CXLab for notebooks and scripts: the commands as functions, with typed results.

    from cxlab import api as cxlab

    recorded = cxlab.run("sort", "big.txt", membind="dram", record="sort.trace")
    moved = cxlab.replay("sort.trace", membind="cxl")
    cxlab.compare({"all DRAM": recorded.result, "all CXL": moved.result})

An option has its name of the command line, with `_` for `-`: ``--sample-seed`` is ``sample_seed``. Its value
is text or a number, True for a flag, or a list if the option is repeatable. A result shows as the command's
table. It gives frames of pandas or polars (``pip install cxlab[notebook]``).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, RenderableType
from rich.text import Text

from cxlab import model
from cxlab.bench import key_figures, written
from cxlab.border import BenchPoint, MachineFigures, RunResult
from cxlab.cli import bench as bench_command
from cxlab.cli import figures
from cxlab.cli import replay as replay_command
from cxlab.cli import run as run_command
from cxlab.error import Code, InputError, MachineError
from cxlab.run.results import finished

if TYPE_CHECKING:  # optional: a result needs them only when it is asked for a frame
    import pandas
    import polars

__all__ = [
    "Bench",
    "Comparison",
    "Run",
    "RunFailed",
    "bench",
    "compare",
    "machine",
    "machines",
    "replay",
    "run",
]

#: Value of an option.
Value = str | int | float | bool | os.PathLike[str] | Sequence[str]
#: Characters a line of a table in a notebook.
WIDTH = 120


class RunFailed(MachineError):
    """A run that gave no result. The text is what `cxlab run` said, ``code`` its stable code."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the code of the error behind it."""
        super().__init__(message)
        self.code = code


class _Shown(ABC):
    """Something with a table."""

    @abstractmethod
    def __rich__(self) -> RenderableType:
        """Give the table."""

    def __str__(self) -> str:
        """Write the table as text."""
        console = Console(width=WIDTH, file=StringIO(), record=True)
        console.print(self.__rich__())
        return console.export_text()

    def _repr_html_(self) -> str:
        """Write the table for a notebook."""
        console = Console(width=WIDTH, file=StringIO(), record=True)
        console.print(self.__rich__())
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


class _Frames(ABC):
    """Something with rows."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Give a dictionary a row. A key ends in its unit."""

    def to_pandas(self) -> pandas.DataFrame:
        """Make a pandas frame."""
        import pandas

        return pandas.DataFrame(self.rows())

    def to_polars(self) -> polars.DataFrame:
        """Make a polars frame."""
        import polars

        return polars.DataFrame(self.rows())


@dataclass(frozen=True)
class Comparison(_Shown, _Frames):
    """Runs of one program side by side; the first is what the others are compared to."""

    runs: Mapping[str, RunResult]

    def __rich__(self) -> RenderableType:
        """Give a column to each run."""
        return figures.compared(self.runs)

    def rows(self) -> list[dict[str, Any]]:
        """Give a row to each run and node."""
        return [
            {
                "run": name,
                "node": node,
                "simulated_s": result.simulated_seconds,
                "busy_s": result.time.busy_s,
                "instructions": result.instructions.user + result.instructions.kernel,
                "ipc": result.ipc,
                "bandwidth_mb_s": found.bandwidth_mb_s,
                "read_bytes": found.read_bytes,
                "write_bytes": found.write_bytes,
                "mean_load_latency_ns": found.mean_load_latency_ns,
            }
            for name, result in self.runs.items()
            for node, found in result.nodes.items()
        ]


@dataclass(frozen=True)
class Run(_Shown, _Frames):
    """A program that has run on a simulated machine, or a trace that was replayed."""

    name: str
    #: what the model says of it
    result: RunResult
    #: of the program; None: this is a replay
    exit_status: int | None
    #: of the program
    stdout: bytes
    #: what `cxlab run` and the program said on standard error
    stderr: str
    #: the files of the run; None: this is a replay
    folder: Path | None

    def __rich__(self) -> RenderableType:
        """Give the table of one run."""
        return figures.compared({self.name: self.result})

    def rows(self) -> list[dict[str, Any]]:
        """Give a row to each node."""
        return Comparison({self.name: self.result}).rows()

    def series(self) -> pandas.DataFrame:
        """Read the model's counters over simulated time, as a pandas frame."""
        import pandas

        if self.folder is None:
            raise InputError(Code.OPTION, "series", "a replay keeps no folder", "a `Run` that `run` returned")
        return pandas.read_parquet(self.folder / "series.parquet")


@dataclass(frozen=True)
class Bench(_Shown, _Frames):
    """A bench that has run."""

    kind: str
    machine: str
    #: a node, or nodes with weights
    placement: str
    points: tuple[BenchPoint, ...]
    #: name and values of what varies from point to point; None: only the delay does
    varied: tuple[str, tuple[Any, ...]] | None
    #: the command's own output
    text: str

    def __rich__(self) -> RenderableType:
        """Give the command's own table."""
        return Text(self.text)

    def rows(self) -> list[dict[str, Any]]:
        """Give a row to each point."""
        names, values = ("point", tuple(range(len(self.points)))) if self.varied is None else self.varied
        return [
            {
                names: value,
                "delay_cycles": point.delay,
                "latency_ns": point.latency_ns,
                "bandwidth_mb_s": point.bandwidth_mb_s,
                "read_mb_s": point.read_mb_s,
                "write_mb_s": point.write_mb_s,
            }
            for value, point in zip(values, self.points, strict=True)
        ]


def machines() -> list[str]:
    """Names of the machines that come with CXLab."""
    return model.machine_names()


def machine(name_or_file: str) -> MachineFigures:
    """Key figures of a machine, as the bench measures them, and its whole description as ``spec``.

    Raises:
        RefusedByModel: there is no such machine, or its file is wrong.

    """
    return key_figures.described(name_or_file)


def run(*program: str, **options: Value) -> Run:
    """Run a program of this host on a simulated machine, as ``cxlab run`` does.

    Args:
        program: the program and its arguments.
        options: of ``cxlab run``, such as ``membind="cxl"`` or ``record="sort.trace"``.

    Raises:
        InputError: an option that `cxlab run` does not have.
        RunFailed: the simulator failed, or refused an option's value.

    """
    arguments = _arguments(run_command.command, options)
    with tempfile.TemporaryDirectory(prefix="cxlab-") as folder:
        summary = Path(folder) / "summary.json"
        given = options.get("json")
        wanted = summary if given is None else Path(os.fspath(given))  # type: ignore[arg-type]
        if given is None:
            arguments += ["--json", str(summary)]
        command = [sys.executable, "-m", "cxlab", "run", *arguments, "--", *program]
        wanted.unlink(missing_ok=True)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        stderr = done.stderr.decode(errors="replace")
        found = finished.of_summary(wanted) if wanted.exists() else None
    if found is None or not found.complete:
        raise _failed(stderr)
    if found.result is None:
        raise RunFailed(MachineError.code, "nothing was timed; valid: detail='all' or detail='marker'")
    results = re.search(r"^cxlab: results: (.*)$", stderr, re.MULTILINE)
    folder_of_run = Path(results[1]) if results else None
    name = f"{found.machine}, {found.placement}"
    return Run(name, found.result, found.exit_status, done.stdout, stderr, folder_of_run)


def replay(trace: str | os.PathLike[str], **options: Value) -> Run:
    """Replay a recorded trace as ``cxlab replay`` does, on another machine or placement if options say so.

    Raises:
        InputError: an option that `cxlab replay` does not have.
        RunFailed: the trace cannot be read, or an option's value is refused.

    """
    arguments = _arguments(replay_command.command, options)
    with tempfile.TemporaryDirectory(prefix="cxlab-") as folder:
        summary = Path(folder) / "summary.json"
        command = [
            sys.executable,
            "-m",
            "cxlab",
            "replay",
            os.fspath(trace),
            *arguments,
            "--json",
            str(summary),
        ]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        stderr = done.stderr.decode(errors="replace")
        if not summary.exists():
            raise _failed(stderr)
        found = finished.of_replay(summary)
    name = ", ".join(part for part in (found.machine, found.placement) if part)
    return Run(name, found.result, None, done.stdout, stderr, None)


def compare(runs: Mapping[str, Run | RunResult]) -> Comparison:
    """Put runs of one program side by side."""
    return Comparison({name: one.result if isinstance(one, Run) else one for name, one in runs.items()})


def bench(kind: str, **options: Value) -> Bench:
    """Measure a simulated machine, as ``cxlab bench`` does.

    Args:
        kind: latency, loaded-latency, bandwidth, stream, memo, embedding or mess.
        options: of that bench, such as ``machine="spr-a1000", node="cxl"``.

    Raises:
        InputError: a bench or an option that is not there, or a value out of range.
        RefusedByModel: the model refuses the machine or the node.

    """
    benches = bench_command.command.commands
    if kind not in benches:
        raise InputError(Code.OPTION, "bench", f"`{kind}` is no bench", ", ".join(sorted(benches)))
    command = benches[kind]
    with tempfile.TemporaryDirectory(prefix="cxlab-") as folder:
        file = Path(folder) / "bench.json"
        said = StringIO()
        with redirect_stdout(said):
            command.main(
                [*_arguments(command, options), "--json", str(file)],
                f"cxlab bench {kind}",
                standalone_mode=False,
            )
        result = written.read(file)
    return Bench(kind, result.machine, result.node, result.figures(), result.varied(), said.getvalue())


def _failed(stderr: str) -> RunFailed:
    """The error that the command named, with its code."""
    found = re.search(r"\b([A-Z]{3}[0-9]{3}): (.*)", stderr)
    return RunFailed(found[1], found[2]) if found else RunFailed(MachineError.code, stderr.strip())


def _arguments(command: click.Command, options: Mapping[str, Value]) -> list[str]:
    """Options as the command line has them.

    Raises:
        InputError: the command has no such option.

    """
    known = {
        name.removeprefix("--").replace("-", "_"): name
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    arguments: list[str] = []
    for name, value in options.items():
        if name not in known:
            raise InputError(
                Code.OPTION, name, f"{command.name} has no such option", ", ".join(sorted(known))
            )
        if isinstance(value, bool):
            arguments += [known[name]] if value else []
        elif isinstance(value, list | tuple):
            arguments += [part for item in value for part in (known[name], str(item))]
        else:
            arguments += [known[name], str(value)]
    return arguments
