"""A file that a command will write. If it cannot be written, the command refuses before its work."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from cxlab.output import STANDARD_OUTPUT, keep_standard_output_for_data


class OutputFile(click.ParamType[Path]):
    """A path in a folder that is there; with `endings`, one of these kinds of file."""

    name = "file"

    def __init__(self, *endings: str) -> None:
        """`endings` with their dots; none for any."""
        self.endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Check, and give the path."""
        path = Path(value)
        if path == STANDARD_OUTPUT and not self.endings:
            keep_standard_output_for_data()
            return path
        if not path.parent.is_dir():
            self.fail(f"{path}: there is no folder {path.parent}; make it, or name another", param, ctx)
        if path.is_dir() or not os.access(path.parent, os.W_OK):
            self.fail(
                f"{path}: a file cannot be written there; valid: a file in a folder of yours", param, ctx
            )
        if self.endings and path.suffix not in self.endings:
            self.fail(f"{path} ends in `{path.suffix}`; valid: {', '.join(self.endings)}", param, ctx)
        return path


JSON_FILE = OutputFile()
PLOT_FILE = OutputFile(".png", ".svg", ".pdf")
json_option = click.option(
    "--json",
    "json_file",
    type=JSON_FILE,
    metavar="FILE",
    help="Write all figures as JSON; `-` is standard output.  Example: out.json",
)
plot_option = click.option(
    "--plot",
    "plot_file",
    type=PLOT_FILE,
    metavar="FILE",
    help="Draw the result as a .png, .svg or .pdf file.  Example: curve.png",
)
