"""Where the commands of ``cxlab plan`` leave their results: options, and what is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from cxlab.cli.output_file import json_option
from cxlab.output import write_json

F = TypeVar("F", bound=Callable[..., Any])


def result_options(command: F) -> F:
    """Add the options that say where results go."""
    plots = click.option(
        "--plot",
        "plot_folder",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Folder for plots (PNG, SVG) and CSV files.  Example: plots",
    )
    seed = click.option(
        "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of the random draws."
    )
    return json_option(plots(seed(command)))


def leave(
    write_plots: Callable[[Path], list[Path]],
    as_json: Callable[[], dict[str, object]],
    plot_folder: Path | None,
    json_file: Path | None,
) -> None:
    """Write what was asked for and say where it is."""
    written = [] if plot_folder is None else write_plots(plot_folder)
    if json_file is not None:
        write_json(json_file, as_json())
        written.append(json_file)
    for path in written:
        click.echo(f"wrote {path}", err=True)
