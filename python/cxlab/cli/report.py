"""``cxlab report``: a run, a comparison or a sweep as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from cxlab.compare.report import COMPARISON
from cxlab.error import Code, InputError
from cxlab.output import write_text
from cxlab.report import of_comparison, of_run, of_sweep, page
from cxlab.sweep.folder import MANIFEST


@click.command(
    "report",
    help="Write a run, a comparison or a sweep as one HTML file.\n\nThe file has charts that can be "
    "explored, and "
    "needs no network. DIR is the folder that the command left. Comparisons in the folder of a run or of a "
    "sweep (`cxlab compare --json`) are shown too.\n\nExample: cxlab report cxlab-sweeps/lanes -o "
    "report.html",
)
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    default="report.html",
    show_default=True,
    help="Name of the HTML file.",
)
def command(directory: Path, output: Path) -> None:
    """Read the folder, write the page."""
    if (directory / MANIFEST).is_file():
        report = of_sweep.report(directory)
    elif (directory / COMPARISON).is_file():
        report = of_comparison.report(directory)
    elif (directory / "summary.json").is_file() and (directory / "config.json").is_file():
        report = of_run.report(directory)
    else:
        found = f"has neither {MANIFEST} nor {COMPARISON} nor summary.json and config.json"
        valid = (
            "the folder of a sweep (`cxlab sweep`), of a comparison (`cxlab compare --out DIR`) or of a "
            "finished run (`cxlab run --out DIR`)"
        )
        raise InputError(Code.SWEEP, str(directory), found, valid)
    write_text(output, page.html(report))
    click.echo(f"written: {output}")
