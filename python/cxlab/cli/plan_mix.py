"""``cxlab plan mix``: several applications, one server design for all."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from cxlab.cli.plan_prices import Prices, prices
from cxlab.cli.plan_results import Drawn, Results, drawn, results
from cxlab.error import Code, InputError
from cxlab.plan.applications import EXAMPLE, read_applications


def _print_example(context: click.Context, _: click.Parameter, asked: bool) -> None:
    """Print an applications file to start from, and end."""
    if asked:
        click.echo(EXAMPLE, nl=False)
        context.exit()


@click.command("mix")
@click.argument("applications", type=click.Path(path_type=Path))
@click.option(
    "--example",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_example,
    help="Print an applications file to start from.",
)
@click.option("--quick", is_flag=True, help="Find the fleet only, without uncertainty and Pareto frontiers.")
@prices
@results
@drawn(draws=100)
def command(applications: Path, quick: bool, prices: Prices, results: Results, drawn: Drawn) -> None:
    """Find one server design for several applications.

    A mixed-integer program finds the cheapest fleet for the applications in a TOML file. `cxlab plan mix
    --example` prints such a file.

    Example: cxlab plan mix applications.toml
    """
    from cxlab.plan.mix_report import MixReport  # here, as in `plan cost`; and the solver

    if quick and results.plot_folder is not None:
        raise InputError(Code.CONFLICT, "--plot", "given beside --quick", "one of --plot and --quick")
    report = MixReport(read_applications(applications), prices.read(), drawn.draws, drawn.seed)
    if not quick:
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("solving", total=report.steps)
            report.explore(lambda: progress.advance(task))
    results.leave(report.write_plots, report.as_json)
    report.print(Console())
