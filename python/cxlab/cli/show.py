"""``cxlab show``: a finished run, printed again."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
from rich.console import Console

from cxlab.cli import figures
from cxlab.run.errors import NoRun
from cxlab.run.results import finished


@click.command(
    "show",
    help="Print the figures of a finished run again.\n\n"
    "RUN is the folder that `cxlab run` names at its end. "
    "\n\nExample: cxlab show --stats cxlab-runs/dram",
)
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--stats", is_flag=True, help="Show every figure and every statistic.  [default: off]")
def command(run: Path, stats: bool) -> int:
    """Print the last lines of the run again, on standard output."""
    found = finished.read(run)
    if not found.complete:
        click.echo(f"cxlab: {run} is not complete: {found.reason}", err=True)
    if found.result is None:
        raise NoRun(f"{run} has no figures: it ran with --detail off. Run it again with --detail all")
    whole = msgspec.structs.replace(found.result, statistics=found.statistics())
    console = Console(highlight=False, soft_wrap=True)
    figures.show(console, f"{found.machine}, {found.placement}", whole, everything=stats)
    return 0
