"""Files that a run leaves: ``--out``, ``--overwrite``, ``--json``, ``--record``, ``--keep``."""

from __future__ import annotations

from pathlib import Path

import click

from cxlab.run.errors import BadRequest
from cxlab.run.options.option import Given, Option

FILE = click.Path(path_type=Path, dir_okay=False)
OUT: Option[Path | None] = Option(
    "--out",
    "Folder for the results.  [default: cxlab-runs/<UTC time>-<program>]  Example: results",
    {"type": click.Path(path_type=Path), "metavar": "DIR"},
)
OVERWRITE: Option[bool] = Option(
    "--overwrite", "Replace an earlier run in the folder of --out.  [default: off]", {"is_flag": True}
)
JSON: Option[Path | None] = Option(
    "--json", "Write the summary to this file too.  Example: summary.json", {"type": FILE, "metavar": "FILE"}
)
RECORD: Option[Path | None] = Option(
    "--record",
    "Write the trace of the run to this file, for `cxlab replay`.  Example: run.trace",
    {"type": FILE, "metavar": "FILE"},
    needs_detail=True,
)
KEEP: Option[Path | None] = Option(
    "--keep",
    "Copy the files that PROGRAM writes to this folder.  [default: none is kept]  Example: kept",
    {"type": click.Path(path_type=Path), "metavar": "DIR"},
)


def check(given: Given, options: tuple[Option[Path | None], ...]) -> list[Path]:
    """The files that will be written, each in a folder that is there.

    Raises:
        BadRequest: a folder is not there.

    """
    files = [(option.flag, given[option]) for option in options]
    asked = [(flag, file) for flag, file in files if file is not None]
    for flag, file in asked:
        if file == Path("-"):
            raise BadRequest(
                f"{flag} -: standard output is the program's; name a file, as in {flag} summary.json"
            )
        if not file.absolute().parent.is_dir():
            raise BadRequest(
                f"{flag} {file}: the folder {file.absolute().parent} does not exist. Make it, or name another"
            )
    return [file for _, file in asked]
