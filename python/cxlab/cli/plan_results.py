"""Options of ``cxlab plan`` for the folder of results and for random draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from cxlab.cli.option_group import grouped
from cxlab.cli.output_file import json_option
from cxlab.file_format import Format
from cxlab.output import write_json

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Results:
    """Files and folders that were asked for."""

    json_file: Path | None
    plot_folder: Path | None

    def leave(
        self, write_plots: Callable[[Path], list[Path]], as_json: Callable[[], dict[str, object]]
    ) -> None:
        """Write what was asked for and say where it is."""
        written = [] if self.plot_folder is None else write_plots(self.plot_folder)
        if self.json_file is not None:
            write_json(self.json_file, as_json(), Format.PLAN)
            written.append(self.json_file)
        for path in written:
            click.echo(f"wrote {path}", err=True)


@dataclass(frozen=True)
class Drawn:
    """Random draws of what is uncertain."""

    draws: int
    seed: int


results = grouped(
    "results",
    Results,
    json_option,
    click.option(
        "--plot",
        "plot_folder",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Folder for plots (PNG, SVG) and CSV files.  Example: plots",
    ),
)


def drawn(draws: int) -> Callable[[F], F]:
    """Give a command its random draws: so many unless more are asked for."""
    return grouped(
        "drawn",
        Drawn,
        click.option(
            "--draws",
            type=click.IntRange(1),
            default=draws,
            show_default=True,
            help="Number of random draws.",
        ),
        click.option(
            "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of the random draws."
        ),
    )
