"""``cxlab diff``: two finished runs side by side."""

from __future__ import annotations

from pathlib import Path

import click

from cxlab.cli import comparison
from cxlab.cli.output_file import json_option
from cxlab.compare.slowdown import Column
from cxlab.run.errors import NoRun
from cxlab.run.results import finished
from cxlab.run.results.finished import Finished


@click.command(
    "diff",
    help="Say how much slower one finished run is than another.\n\n"
    "The first RUN is what the second is compared with. RUN is the folder that `cxlab run` names at its end. "
    "\n\nExample: cxlab diff cxlab-runs/dram cxlab-runs/cxl",
)
@click.argument("first", type=click.Path(path_type=Path), metavar="RUN")
@click.argument("second", type=click.Path(path_type=Path), metavar="RUN")
@json_option
def command(first: Path, second: Path, json_file: Path | None) -> int:
    """A sentence and a table."""
    runs = [finished.read(folder) for folder in (first, second)]
    for run in runs:
        if not run.complete:
            click.echo(f"cxlab: {run.folder} is not complete: {run.reason}", err=True)
    if runs[0].program != runs[1].program:
        click.echo("cxlab: the two runs are of different programs or arguments", err=True)
    comparison.show([_column(run, other) for run, other in zip(runs, reversed(runs), strict=True)], json_file)
    return 0


def _column(run: Finished, other: Finished) -> Column:
    """A run, called by what it does not share with the other one."""
    result = run.result
    if result is None or result.simulated_seconds <= 0:
        raise NoRun(f"{run.folder} has no time to compare: nothing was timed. Run it again with --detail all")
    differs = [
        mine
        for mine, others in ((run.machine, other.machine), (run.placement, other.placement))
        if mine != others
    ]
    return Column(
        label=" ".join(differs) or str(run.folder),
        machine=run.machine,
        placement=run.placement,
        results=[result],
        unloaded=comparison.unloaded(run.machine, [result]),
        folder=run.folder,
    )
