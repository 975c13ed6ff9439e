"""``--plot``: a figure of the run over simulated time."""

from __future__ import annotations

from pathlib import Path

from cxlab.run.errors import BadRequest
from cxlab.run.options.files import FILE
from cxlab.run.options.option import Option

ENDINGS = (".png", ".svg", ".pdf")


OPTION: Option[Path | None] = Option(
    "--plot",
    "Draw IPC, bandwidth and latency of loads over simulated time: a .png, .svg or .pdf file.  "
    "Example: run.png",
    {"type": FILE, "metavar": "FILE"},
    needs_detail=True,
)


def check(file: Path | None) -> None:
    """Refuse a figure of an unknown kind before the run.

    Raises:
        BadRequest: the file's ending is none of a figure.

    """
    if file is not None and file.suffix not in ENDINGS:
        raise BadRequest(f"--plot {file} ends in `{file.suffix}`; valid: {', '.join(ENDINGS)}")
