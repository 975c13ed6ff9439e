"""Options that `cxlab run`, `boot` and `replay` share: what a timeline shows, and where it goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cxlab.machine.timeline import DEFAULT_WINDOW

timeline_options: list[Callable[[Any], Any]] = [
    click.option(
        "--timeline",
        "timeline_file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Write requests by stage, queue depths and IPC of a window, for ui.perfetto.dev.",
    ),
    click.option(
        "--window",
        default=DEFAULT_WINDOW,
        show_default=True,
        metavar="FROM:UNTIL",
        help="Simulated time that the timeline shows.",
    ),
]
