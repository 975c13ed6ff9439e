"""``cxlab study``: applications under an operating system, on a simulated machine.

run        one placement and one policy: throughput, latencies, migrations
sweep      the same at shares of CXL memory from 0 to 100 %
caption    Caption steers the share
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TextIO

import click

from cxlab import figure, model
from cxlab.border import CaptionExecution, CaptionMode, CaptionObjective, TieringKind
from cxlab.cli.machine_option import machine_option
from cxlab.cli.output_file import JSON_FILE, json_option, plot_option
from cxlab.error import Code, InputError
from cxlab.file_format import Format
from cxlab.output import console, table, write_json
from cxlab.place.request import APPLICATIONS, TIERINGS, TWO_CHANNELS, Application, Share, Study
from cxlab.place.study import CaptionSettings, Outcome, caption, of_the_best, run

#: Warm-up and measurement: stores answer some 100,000 requests a second, of the others every line counts.
STORE_TIMES = ("1 ms", "20 ms")
TIMES = ("30 us", "100 us")
#: Of so many random events the count is known to 10 % (one standard deviation of Poisson's law).
FEW = 100
#: How the model reads a time.
TIME = re.compile(r"[0-9]+(\.[0-9]+)? ?(ps|ns|us|ms|s)")
app_option = click.option(
    "--app",
    "names",
    required=True,
    metavar="NAME[,NAME]",
    help=f"Applications to run together: {', '.join(APPLICATIONS[:5])}, "
    "store-[abcd]-[uniform|zipfian|latest].  Example: streaming",
)
threads_option = click.option(
    "--threads",
    type=click.IntRange(1, 64),
    help="Number of threads per application.  [default: 1 for a store, 16 for others]",
)
pages_option = click.option(
    "--pages",
    type=click.IntRange(16, 1 << 22),
    help="Number of 4 KiB pages per application.  Example: 65536",
)
warm_option = click.option(
    "--warm", metavar="TIME", help="Simulated time before anything is counted.  Example: '1 ms'"
)
measure_option = click.option(
    "--measure", metavar="TIME", help="Simulated time that is counted.  Example: '20 ms'"
)
on_machine = machine_option(TWO_CHANNELS)


@click.group(
    "study",
    help="Study page placement under a modelled operating system.\n\n"
    "Applications and operating system are models, so that they can be larger than any guest. "
    "\n\nExample: cxlab study sweep --app streaming",
)
def command() -> None:
    """The group."""


def _applications(names: str, threads: int | None, pages: int | None) -> list[Application]:
    return [Application.of(name.strip(), threads, pages) for name in names.split(",")]


def _time(option: str, text: str) -> str:
    if not TIME.fullmatch(text.strip()):
        raise InputError(
            Code.STUDY, option, f"`{text}` is no time", "a number with us, ms or another unit, as '20 ms'"
        )
    return text


def _times(applications: Sequence[Application], warm: str | None, measure: str | None) -> tuple[str, str]:
    usual = STORE_TIMES if all(application.is_store for application in applications) else TIMES
    return _time("--warm", warm or usual[0]), _time("--measure", measure or usual[1])


def _say_few(names: str, outcomes: Sequence[Outcome]) -> None:
    """Say of which applications too little work was counted to compare it."""
    for name, *processes in zip(names.split(","), *(o.interval.processes for o in outcomes), strict=True):
        least = min(process.work for process in processes)
        if least < FEW:
            counted = f"{processes[0].unit} counted: {least:,}, and fewer than {FEW} say little"
            click.echo(f"cxlab: {name}: {counted}. Give a longer --measure", err=True)


@command.command(
    "run",
    help="Measure one placement under one policy.\n\n"
    "Prints throughput, latencies and migrations.\n\nExample: cxlab study run --app streaming --share 25",
)
@app_option
@threads_option
@pages_option
@on_machine
@click.option(
    "--share", default=0, show_default=True, help="Share of pages that start on CXL memory, in percent."
)
@click.option(
    "--tiering",
    type=click.Choice(TIERINGS),
    default="none",
    show_default=True,
    help="Policy that moves pages between DRAM and CXL memory.",
)
@click.option(
    "--fast-frames",
    type=click.IntRange(16),
    help="Number of 4 KiB frames of DRAM.  [default: room for all pages]  Example: 6300",
)
@click.option("--swap", is_flag=True, help="Put an SSD in the place of CXL memory.  [default: off]")
@click.option(
    "--rate",
    type=float,
    help="Requests per second to each thread of a store.  [default: as many as it can answer]  Example: "
    "50000",
)
@warm_option
@measure_option
@json_option
def run_one(
    names: str,
    threads: int | None,
    pages: int | None,
    machine: str,
    share: int,
    tiering: TieringKind,
    fast_frames: int | None,
    swap: bool,
    rate: float | None,
    warm: str | None,
    measure: str | None,
    json_file: Path | None,
) -> None:
    """Run one interval."""
    applications = _applications(names, threads, pages)
    if rate is not None:
        if not any(app.is_store for app in applications):
            raise InputError(
                Code.STUDY, "--rate", f"{names} takes no requests", "a store, as store-c-zipfian"
            )
        applications = [app.at(rate) if app.is_store else app for app in applications]
    if swap and (share or tiering != "none"):
        found = "an SSD stands in the place of CXL memory, so no page is placed or moved there"
        raise InputError(Code.STUDY, "--swap", found, "--swap without --share and --tiering")
    times = _times(applications, warm, measure)
    [outcome] = run([Study(applications, Share(share), machine, tiering, fast_frames, swap, *times)])
    _show(names.split(","), outcome)
    _say_few(names, [outcome])
    if json_file is not None:
        write_json(json_file, model.document(outcome.interval), Format.STUDY)


def _show(names: Sequence[str], outcome: Outcome) -> None:
    shown = table(("application", "work", "p50, p99", "on CXL", "in the kernel"))
    for name, process in zip(names, outcome.interval.processes, strict=True):
        latency = process.latency_us
        shown.add_row(
            name,
            f"{process.work_per_second:,.0f} {process.unit}/s",
            "-" if latency is None else f"{latency.p50:.1f}, {latency.p99:.1f} us",
            f"{process.resident.get('cxl', 0.0):.1%}",
            f"{process.kernel_share:.1%}",
        )
    out = console()
    out.print(shown)
    for node, figures in outcome.interval.nodes.items():
        out.print(
            f"{node}: {figures.read_mb_s:,.0f} MB/s read by the cores, {figures.write_mb_s:,.0f} written"
        )
    counts = {name: value for name, value in outcome.interval.os.items() if isinstance(value, int | float)}
    happened = {name: value for name, value in counts.items() if value}
    out.print(", ".join(f"{name} {value:,.0f}" for name, value in happened.items()) or "no page moved")


@command.command(
    "sweep",
    help="Measure throughput at shares of CXL memory from 0 to 100 %.\n\n"
    "Example: cxlab study sweep --app streaming --step 25",
)
@app_option
@threads_option
@pages_option
@on_machine
@click.option(
    "--step", default=10, show_default=True, type=click.IntRange(1, 50), help="Step of the share, in percent."
)
@warm_option
@measure_option
@plot_option
@json_option
def sweep(
    names: str,
    threads: int | None,
    pages: int | None,
    machine: str,
    step: int,
    warm: str | None,
    measure: str | None,
    plot_file: Path | None,
    json_file: Path | None,
) -> None:
    """Run a static sweep of the share."""
    shares = [Share(percent) for percent in (*range(0, 100, step), 100)]
    applications = _applications(names, threads, pages)
    before, counted = _times(applications, warm, measure)
    outcomes = run([Study(applications, share, machine, warm=before, measure=counted) for share in shares])
    ratios = of_the_best(outcomes)
    units = [process.unit for process in outcomes[0].interval.processes]
    works = [f"{name} [{unit}/s]" for name, unit in zip(names.split(","), units, strict=True)]
    compared = "of the best" if len(works) == 1 else "mean of each one's best"
    shown = table(("on CXL", *works, compared))
    for share, outcome, ratio in zip(shares, outcomes, ratios, strict=True):
        shown.add_row(f"{share.percent} %", *(f"{work:,.0f}" for work in outcome.works), f"{ratio:.1%}")
    console().print(shown)
    _say_few(names, outcomes)
    if plot_file is not None:
        points = [(share.percent, ratio) for share, ratio in zip(shares, ratios, strict=True)]
        curve = figure.Line(names, points)
        figure.lines(plot_file, f"{names}: static shares", "on CXL [%]", compared, [curve])
    if json_file is not None:
        write_json(
            json_file,
            {
                "shares": [share.percent for share in shares],
                "intervals": [model.document(o.interval) for o in outcomes],
            },
            Format.STUDY,
        )


@command.command(
    "caption",
    help="Let Caption steer the share of CXL memory.\n\n"
    "Microseconds of simulated time stand for the paper's seconds. "
    "\n\nExample: cxlab study caption --app streaming",
)
@app_option
@threads_option
@pages_option
@on_machine
@click.option(
    "--mode",
    type=click.Choice(["paper", "adaptive"]),
    default="adaptive",
    show_default=True,
    help="How to search: `paper` keeps the published rules, `adaptive` repeats doubtful trials.",
)
@click.option("--start", default=50, show_default=True, help="Share of CXL memory to start at, in percent.")
@click.option(
    "--objective",
    type=click.Choice(["throughput", "published"]),
    default="throughput",
    show_default=True,
    help="Figure to raise: measured throughput, or the published linear model's estimate.",
)
@click.option(
    "--model",
    "model_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Raise the estimate of this model, which `cxlab-caption fit` wrote.  Example: model.json",
)
@click.option(
    "--executions",
    default=24,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Number of times that Caption sets a share and measures.",
)
@click.option(
    "--log",
    "log_file",
    type=JSON_FILE,
    metavar="FILE",
    help="Write one JSON line for each execution.  Example: caption.jsonl",
)
@plot_option
def steer(
    names: str,
    threads: int | None,
    pages: int | None,
    machine: str,
    mode: CaptionMode,
    start: int,
    objective: Literal["throughput", "published"],
    model_file: Path | None,
    executions: int,
    log_file: Path | None,
    plot_file: Path | None,
) -> None:
    """Caption above the model."""
    climbed: CaptionObjective = objective if model_file is None else {"model": _fitted(model_file)}
    applications = _applications(names, threads, pages)
    sample = "2 ms" if all(app.is_store for app in applications) else "12 us"
    settings = CaptionSettings(mode, start, climbed, executions, sample=sample)
    study = Study(applications, Share(start), machine, warm="60 us")
    warm, measure = _times(applications, None, None)
    [alone] = run([Study(applications, Share(0), machine, warm=warm, measure=measure)])
    seen: list[CaptionExecution] = []
    with contextlib.nullcontext() if log_file is None else log_file.open("w") as log:
        try:
            caption([(study, settings, alone.works)], partial(_heard, seen, log))
        finally:
            # Ended by ctrl-C, too: what was steered so far.
            if plot_file is not None and seen:
                draw(plot_file, names, seen)


def _fitted(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        valid = "JSON that `cxlab-caption fit` wrote"
        raise InputError(Code.STUDY, f"--model {path}", str(error), valid) from None


def _heard(
    executions: list[CaptionExecution], log: TextIO | None, _job: int, execution: CaptionExecution
) -> None:
    executions.append(execution)
    click.echo(
        f"{len(executions):3}  {execution.share:6.1%} CXL  {execution.throughput:6.3f} of DDR alone"
        f"  {execution.verdict or '-'}"
    )
    if log is not None:
        log.write(json.dumps(model.document(execution)) + "\n")
        log.flush()


def draw(path: Path, title: str, executions: Sequence[CaptionExecution]) -> None:
    """Share and throughput over executions."""
    numbered = list(enumerate(executions, 1))
    figure.lines(
        path,
        f"{title}: Caption",
        "execution",
        "share of CXL memory; throughput over DDR alone",
        [
            figure.Line("share of CXL memory", [(number, e.share) for number, e in numbered]),
            figure.Line("throughput", [(number, e.throughput) for number, e in numbered]),
        ],
    )
