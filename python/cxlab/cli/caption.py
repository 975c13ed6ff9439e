"""``cxlab caption``: Caption steers a program's pages in the simulated guest."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from cxlab.caption import plot
from cxlab.caption.controller import Settings, Steered
from cxlab.caption.live import Live
from cxlab.caption.log import Line, LogFile, held, resting
from cxlab.cli import session, study
from cxlab.cli.sections import Sectioned
from cxlab.run.errors import BadRequest
from cxlab.run.guest import artefacts
from cxlab.run.guest.protocol import Identity, Program
from cxlab.run.host.progress import Progress
from cxlab.run.machine import Machine
from cxlab.run.options import detail, environment, placement, table
from cxlab.run.options.option import Given
from cxlab.run.results.run_directory import RunDirectory

LOG, PLOT = "caption.jsonl", "caption.png"


class _GuestOrModel(Sectioned):
    """With ``--app`` it steers applications of the model: ``cxlab study caption``."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        own = args[: args.index("--")] if "--" in args else args
        if any(argument.split("=")[0] == "--app" for argument in own):
            return study.steer.make_context(info_name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        return ctx.command.invoke(ctx) if ctx.command is not self else super().invoke(ctx)


@click.command(
    "caption",
    cls=_GuestOrModel,
    context_settings={"allow_interspersed_args": False},
    help="Run PROGRAM while Caption steers its share of CXL memory.\n\n"
    "Caption is the controller that servers run. It runs in the guest, reads the machine's counters and sets "
    "the kernel's own interleave weights. With --app NAME in place of PROGRAM, Caption steers applications "
    "of the model, without a guest: see cxlab caption --app streaming --help. "
    "\n\nExample: cxlab caption --start 50% --move-rate 1GB/s -- ./program",
    epilog="A new share places only new pages. --move-rate moves the resident ones too. The folder of "
    f"results has the controller's log ({LOG}) and its plot ({PLOT}). Exit status: as of `cxlab run`.",
)
@partial(table.declare, table.GUEST)
@click.option(
    "--mode",
    type=click.Choice(["adaptive", "paper", "sweep"]),
    default="adaptive",
    show_default=True,
    help="How to search: `adaptive` repeats trials that scatter, `paper` keeps the published rules, `sweep` "
    "holds each of --shares once.",
)
@click.option(
    "--interval",
    default="1ms",
    show_default=True,
    metavar="TIME",
    help="Simulated time between two samples. It stands for the paper's second.",
)
@click.option(
    "--delay",
    default="20ms",
    show_default=True,
    metavar="TIME",
    help="Simulated time before the first sample, while PROGRAM starts up.",
)
@click.option(
    "--start", metavar="RATIO", help="Share of pages on CXL memory to start at.  Example: 50% or 1:1"
)
@click.option(
    "--shares", metavar="RATIOS", help="Shares that --mode sweep measures one by one.  Example: 0%,25%,50%"
)
@click.option(
    "--objective",
    type=click.Choice(["estimate", "throughput"]),
    help="Figure to raise: the linear model's estimate, or the instructions that the program executes.  "
    "[default: throughput, with --mode adaptive and without --model]",
)
@click.option(
    "--model",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File of a linear model that `cxlab-caption fit` wrote.  [default: the published one]  "
    "Example: model.json",
)
@click.option(
    "--move-rate",
    metavar="RATE",
    help="Move pages that have a place already too, at most at this rate.  Example: 1GB/s",
)
@click.option(
    "--least-samples",
    type=click.IntRange(1),
    metavar="N",
    help="Least number of samples before a share is judged.  Example: 4",
)
@click.option(
    "--settling-samples",
    type=click.IntRange(0),
    metavar="N",
    help="Number of samples to leave out after a share has changed.  Example: 1",
)
@click.option(
    "--most-samples",
    type=click.IntRange(1),
    metavar="N",
    help="Number of samples after which Caption ends.  Example: 100",
)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
def command(
    program: tuple[str, ...],
    mode: str,
    interval: str,
    delay: str,
    start: str | None,
    shares: str | None,
    objective: str | None,
    model: Path | None,
    move_rate: str | None,
    least_samples: int | None,
    settling_samples: int | None,
    most_samples: int | None,
    **values: Any,
) -> int:
    """The controller as the guest's program; it checks its own options."""
    given = Given(values)
    if given[detail.DETAIL] != "all":
        raise BadRequest(
            f"--detail {given[detail.DETAIL]}: the controller needs the counters of the whole run; "
            f"valid: all. "
            "Leave --detail out"
        )
    if objective is None and model is None and mode != "paper":
        objective = "throughput"
    settings = Settings(
        mode=mode,
        interval=interval,
        delay=delay,
        start=start,
        shares=shares,
        objective=objective,
        model=model,
        move_rate=move_rate,
        least_samples=least_samples,
        settling_samples=settling_samples,
        most_samples=most_samples,
    )

    def controller(machine: Machine) -> Program:
        command = settings.command(artefacts.built(artefacts.CAPTION), Steered.of(machine), program)
        variables = environment.of(given)
        policy = placement.Placement("Caption", "default")
        return Program(command, os.getcwd(), Identity.of_caller(), variables, policy)

    click.echo(f"cxlab: {interval} of simulated time stands for a second of the paper", err=True)
    report = _Report()
    try:
        return session.run(given, session.Asked(controller, program[0], steering=report.begin))
    finally:
        report.end(settings)


class _Report:
    """The controller's log, and what is made of it when the run has ended, however it did."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.log: LogFile | None = None

    def begin(self, directory: RunDirectory, progress: Progress) -> Callable[[bytes], None]:
        self.folder = directory.path
        self.log = LogFile((directory.path / LOG).open("wb"), Live(progress).show)
        return self.log.record

    def end(self, settings: Settings) -> None:
        if self.log is None or self.folder is None:
            return
        self.log.close()
        if self.log.lines:
            plot.write(self.log.lines, self.folder / PLOT, f"Caption, {settings.mode}")
            _print(self.log.lines, settings)


def _print(lines: list[Line], settings: Settings) -> None:
    """Print the controller's result on standard output."""
    if settings.mode != "sweep":
        click.echo(f"rests at {resting(lines):.1%} on CXL memory ({len(lines)} samples)")
        return
    table = held(lines)
    click.echo("on CXL  weights  throughput [M/s]   IPC  L1 miss [ns]  DDR read [ns]  CXL read [ns]")
    for row in table:
        figures = f"{row.l1_miss_ns:14.0f}{row.ddr_read_ns:15.0f}"
        figures += f"{'-':>15}" if math.isnan(row.cxl_read_ns) else f"{row.cxl_read_ns:15.0f}"
        click.echo(f"{row.share:6.1%}  {row.placement:>7}{row.throughput:18.1f}{row.ipc:6.2f}{figures}")
    best = max(table, key=lambda row: row.throughput, default=None)
    if best is not None:
        click.echo(f"best: {best.share:.1%} ({best.placement})")
