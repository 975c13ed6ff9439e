"""A timeline of a window of a run, for ui.perfetto.dev: options of ``cxlab run`` and ``cxlab replay``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from cxlab.border import OutputFile, TimelineJob
from cxlab.run.errors import BadRequest
from cxlab.run.options.option import Option
from cxlab.run.simulated_time import parse_ps

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
    begins, _, ends = window.partition(":")
    from_ps, until_ps = parse_ps(begins), parse_ps(ends)
    if from_ps is None or until_ps is None or until_ps <= from_ps:
        raise BadRequest(
            f"--window {window}: this is not a span of time; "
            "valid: two times, the later one last, as in 100us:250us"
        )
    if file is None:
        if window != DEFAULT_WINDOW:
            raise BadRequest("--window applies only to a timeline. Add --timeline FILE")
        return None
    return Timeline(file, from_ps, until_ps)


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
