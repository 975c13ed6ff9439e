"""``cxlab reproduce``: the figures and tables of the papers, by their ids."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from cxlab.cli.output_file import PLOT_FILE
from cxlab.error import Code, InputError, MachineError
from cxlab.output import bar, console, table

from experiments import reproduction, score
from experiments.paper_figures import MadeWith, PaperFigure, all_figures, find

ACTIONS = "FIGURE, --all, --list, --summary DIR"


@click.command(
    "reproduce",
    help="Make a figure or table of a paper: paper, simulated, error.\n\n"
    "FIGURE is an id that --list prints. "
    "\n\nExample: cxlab reproduce micro23/fig9 --quick --out results",
)
@click.argument("figure_id", metavar="[FIGURE]", required=False)
@click.option("--list", "listed", is_flag=True, help="List all figures, what makes each, and why.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print a JSON list.")
@click.option("--all", "every", is_flag=True, help="Make all figures; those finished in --out are kept.")
@click.option(
    "--quick/--full",
    default=False,
    help="Run a subset that takes seconds to minutes, or the whole.  [default: --full]",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for FIGURE.json, .parquet and .png, made if needed.  [default: a temporary one]",
)
@click.option(
    "--plot",
    "plot_file",
    type=PLOT_FILE,
    metavar="FILE",
    help="Draw the figure with the paper's points: a .png, .svg or .pdf file.  [default: none]",
)
@click.option(
    "--summary",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Print the errors and ranks of the figures that DIR has, and one number for each paper.",
)
def command(
    figure_id: str | None,
    listed: bool,
    as_json: bool,
    every: bool,
    quick: bool,
    out: Path | None,
    plot_file: Path | None,
    summary: Path | None,
) -> None:
    """One of four things."""
    asked = [figure_id is not None, every, listed, summary is not None]
    if sum(asked) != 1:
        found = f"{sum(asked)} of them are given"
        raise InputError(Code.EXPERIMENT, ACTIONS, found, "exactly one of them")
    if as_json and not listed:
        raise InputError(Code.EXPERIMENT, "--json", "is given without --list", "--list --json")
    if listed:
        _list(as_json)
    elif summary is not None:
        _summarise(summary)
    elif every:
        _make_all(quick, out)
    else:
        assert figure_id is not None
        _make(find(figure_id), quick, out, plot_file)


def _list(as_json: bool) -> None:
    figures = all_figures()
    if as_json:
        click.echo(json.dumps([figure.document() for figure in figures], indent=2))
        return
    shown = table(("id", "made with", "title", "why"), left=2, fold=2, plain=True)
    for figure in figures:
        shown.add_row(figure.id, figure.made_with.value, figure.entry.title, figure.why)
    console().print(shown)
    made = [figure for figure in figures if figure.experiments]
    console().print(f"{len(made)} of {len(figures)} figures and tables are made", highlight=False)


def _make(figure: PaperFigure, quick: bool, out: Path | None, plot_file: Path | None) -> None:
    for experiment in figure.experiments:
        click.echo(str(experiment.subject))
    click.echo(f"{figure.id}: {figure.entry.title}")
    if quick:
        click.echo("quick: a subset of the figure; do not quote its numbers")
    with contextlib.ExitStack() as stack:
        if out is None:
            prefix = f"{figure.file_name}-"
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))
        else:
            folder = out.resolve()
            folder.mkdir(parents=True, exist_ok=True)
        made = reproduction.reproduce(figure, quick, folder)
        for _, found in made.tables():
            console().print(found.shown())
        for report in made.reports.values():
            for note in report.notes:
                click.echo(note)
        click.echo(f"{figure.id}: {made.score.text()}")
        if out is not None:
            made.write(folder)
            click.echo(f"written: {out / figure.file_name}.json, .parquet, .png")
        if plot_file is not None:
            made.draw(plot_file)


def _make_all(quick: bool, out: Path | None) -> None:
    if out is None:
        raise InputError(Code.EXPERIMENT, "--all", "is given without --out", "--all --out DIR")
    figures = [figure for figure in all_figures() if figure.experiments]
    failed: list[str] = []
    with bar() as progress:
        task = progress.add_task("figures", total=len(figures))
        for figure in figures:
            kept = reproduction.kept(out / f"{figure.file_name}.json")
            if kept is not None and kept.quick == quick:
                click.echo(f"{figure.id}: finished in {out}; remove {figure.file_name}.json to make it again")
            else:
                try:
                    _make(figure, quick, out, None)
                except (InputError, MachineError) as error:
                    # Hours of other figures do not depend on this one.
                    click.echo(f"{figure.id}: not made: {error}", err=True)
                    failed.append(figure.id)
            progress.advance(task)
    _summarise(out)
    if failed:
        click.echo(f"not made: {', '.join(failed)}; the same command tries only these again", err=True)
        raise click.exceptions.Exit(1)


def _summarise(folder: Path) -> None:
    found = reproduction.finished(folder)
    shown = table(("figure", "made with", "errors and ranks"), left=2, fold=1, plain=True)
    for one in found:
        quick = " (quick: not for quoting)" if one.quick else ""
        shown.add_row(one.id, one.made_with.value, one.score.text() + quick)
    console().print(shown)
    simulated = [one for one in found if one.made_with is not MadeWith.CLOSED_FORM]
    papers = list(dict.fromkeys(one.paper for one in simulated))
    for paper in papers:
        _sum_up(paper, [one for one in simulated if one.paper == paper])
    if len(papers) > 1:
        _sum_up("all papers", simulated)


def _sum_up(what: str, simulated: Sequence[reproduction.Finished]) -> None:
    together = score.together(one.score for one in simulated)
    real = sum(one.made_with is MadeWith.REAL for one in simulated)
    click.echo(f"{what}: {together.text()} (figures made: {len(simulated)}, by real programs: {real})")
