"""``cxlab report-bug``: one file with all that a maintainer needs to know of a run."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import click
from rich.console import Console

from cxlab import output
from cxlab.cli import doctor
from cxlab.run.results import bug_report


@click.command(
    "report-bug",
    help="Pack what a maintainer needs to know of a run.\n\n"
    "RUN is the folder that `cxlab run` names. The archive has the machine, the figures, the versions and "
    "what `cxlab doctor` says. The program's arguments, its environment and what it printed are left out. "
    "\n\nExample: cxlab report-bug cxlab-runs/dram",
)
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    default="cxlab-bug.tar.gz",
    metavar="FILE",
    show_default=True,
    help="The archive.",
)
@click.option(
    "--private",
    is_flag=True,
    help="Include the program's arguments, its environment and what it printed.  [default: off]",
)
def command(run: Path, file: Path, private: bool) -> None:
    """Write the archive, name what is in it."""
    console = Console(file=StringIO(), width=output.WIDE, record=True)
    table, _ = doctor.state()
    console.print(table)
    members = bug_report.pack(run, console.export_text(), private=private)
    with output.whole(file) as archive:
        archive.write(bug_report.archive(members, "cxlab-bug"))
    for name, content in members.items():
        click.echo(f"{len(content):>10} B  {name}")
    if not private:
        left_out = "arguments and environment of the program, and what it printed: --private adds them"
        click.echo(f"left out: {left_out}")
    click.echo(f"written: {file}")
