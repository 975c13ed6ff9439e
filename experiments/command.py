"""``cxlab experiment``: list the experiments, run one."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import click
from cxlab.cli.output_file import PLOT_FILE
from cxlab.output import console, table

from experiments.experiment import Asked, all_experiments, find, run


@click.group(
    "experiment",
    help="Run an experiment: a figure of a paper, or a study.\n\n"
    "Prints the paper's figure beside the simulated one. "
    "\n\nExample: cxlab experiment run micro23_figure_3 --quick",
)
def command() -> None:
    """The group."""


@command.command(
    "list", help="List the experiments, with what each one shows.\n\nExample: cxlab experiment list"
)
def list_all() -> None:
    """A row an experiment."""
    shown = table(("name", "kind", "workload", "what it shows"), left=3, fold=1, plain=True)
    for experiment in all_experiments():
        shown.add_row(experiment.name, experiment.group, experiment.subject.kind.value, experiment.about)
    console().print(shown)


@command.command(
    "run", help="Run the experiment NAME.\n\nExample: cxlab experiment run micro23_figure_3 --quick"
)
@click.argument("name")
@click.option("--quick", is_flag=True, help="Run a subset that takes seconds to a minute.  [default: off]")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for NAME.json (every number), traces and logs, made if needed.  [default: a temporary one]",
)
@click.option(
    "--plot",
    "plot_file",
    type=PLOT_FILE,
    metavar="FILE",
    help="Draw the figure: a .png, .svg or .pdf file.  [default: none]",
)
def run_one(name: str, quick: bool, out: Path | None, plot_file: Path | None) -> None:
    """Run one experiment and print its tables."""
    experiment = find(name)
    with contextlib.ExitStack() as stack:
        if out is None:
            out = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{name}-")))
        out.mkdir(parents=True, exist_ok=True)
        run(experiment, Asked(quick, out.resolve()), plot_file)
