"""A timeline of a window of a run, for ui.perfetto.dev: options of ``cxlab run`` and ``cxlab replay``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import click

from cxlab.border import OutputFile, TimelineJob
from cxlab.run.errors import BadRequest
from cxlab.run.options.option import Option

#: In picoseconds.
UNITS = {"ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
DEFAULT_WINDOW = "0us:100us"


@dataclass(frozen=True)
class Timeline:
    """Content of a timeline, and the file that it is written to."""

    file: Path
    #: simulated time since detail began [ps]
    from_ps: int
    until_ps: int

    def job(self, descriptor: int) -> TimelineJob:
        """Return the job as the model reads it; ``descriptor`` is the file's."""
        output: OutputFile = {"fd": descriptor, "path": str(self.file)}
        return {"output": output, "from_ps": self.from_ps, "until_ps": self.until_ps}


def parse(file: Path | None, window: str) -> Timeline | None:
    """``100us:250us``; None where no timeline is asked for.

    Raises:
        BadRequest: no window, or one that ends before it begins.

    """
    match = re.fullmatch(r"([0-9.]+) ?(ns|us|ms|s):([0-9.]+) ?(ns|us|ms|s)", window)
    try:
        ends = (float(match[1]) * UNITS[match[2]], float(match[3]) * UNITS[match[4]]) if match else (0.0, 0.0)
    except ValueError:
        ends = (0.0, 0.0)
    if ends[1] <= ends[0]:
        raise BadRequest(
            f"--window {window}: this is not a span of time; "
            "valid: two times, the later one last, as in 100us:250us"
        )
    if file is None:
        if window != DEFAULT_WINDOW:
            raise BadRequest("--window applies only to a timeline. Add --timeline FILE")
        return None
    return Timeline(file, round(ends[0]), round(ends[1]))


TIMELINE: Option[Path | None] = Option(
    "--timeline",
    "Write a timeline of requests by stage, queue depths and IPC to this file. Open it at ui.perfetto.dev.  "
    "Example: time.json",
    {"type": click.Path(path_type=Path, dir_okay=False), "metavar": "FILE"},
    needs_detail=True,
)
WINDOW: Option[str] = Option(
    "--window",
    "Simulated time that --timeline shows.  Example: 100us:250us",
    {"default": DEFAULT_WINDOW, "show_default": True, "metavar": "FROM:UNTIL"},
)
