"""``cxlab query``: SQL over the results of sweeps."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import click

from cxlab.output import console, table
from cxlab.sweep import folder, query


@click.command(
    "query",
    help="Ask the results of sweeps by SQL (DuckDB).\n\n"
    "Table `runs` has one row for each run, or for each point of a bench. Its columns are the axes and the "
    "figures. Table `statistics` has one row for each statistic of a run. DIR is the folder of a sweep, or a "
    "folder that holds several of them; cxlab-sweeps if it is not given. "
    '\n\nExample: cxlab query "SELECT machine, placement, latency_ns FROM runs"',
)
@click.argument("sql")
@click.argument(
    "directory",
    metavar="[DIR]",
    default=folder.PARENT,
    type=click.Path(file_okay=False, path_type=Path),
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="Form of the answer.",
)
def command(sql: str, directory: Path, form: str) -> None:
    """Ask, and print the answer."""
    answer = query.ask(sql, directory)
    if form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.headings)
        writer.writerows(answer.rows)
    elif form == "json":
        rows = [dict(zip(answer.headings, row, strict=True)) for row in answer.rows]
        click.echo(json.dumps(rows, indent=2, default=str))
    else:
        shown = table(answer.headings, left=0, plain=True)
        for row in answer.rows:
            shown.add_row(*(_cell(value) for value in row))
        console().print(shown)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)
