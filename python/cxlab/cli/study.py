"""``cxlab study``: applications under an operating system, on a simulated machine.

run        one placement and one policy: throughput, latencies, migrations
sweep      the same at shares of CXL memory from 0 to 100 %
caption    Caption steers the share
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import click
from rich.console import Console
from rich.table import Table

from cxlab.bench import result
from cxlab.cli.bench import InputError
from cxlab.place import plot
from cxlab.place.request import APPLICATIONS, TIERINGS, TWO_CHANNELS, Application, PlaceError, Share, Study
from cxlab.place.study import CaptionSettings, Outcome, caption, run

#: Warm-up and measurement: stores answer some 100,000 requests a second, of the others every line counts.
STORE_TIMES = ("1 ms", "20 ms")
TIMES = ("30 us", "100 us")
json_option = click.option(
    "--json", "json_file", type=click.Path(path_type=Path), help="Write all figures as JSON."
)
plot_option = click.option(
    "--plot", "plot_file", type=click.Path(path_type=Path), help="Draw it: a .png, .svg or .pdf file."
)
app_option = click.option(
    "--app",
    "names",
    required=True,
    metavar="NAME[,NAME]",
    help=f"Run together: {', '.join(APPLICATIONS[:5])}, store-[abcd]-[uniform|zipfian|latest].",
)
threads_option = click.option(
    "--threads", type=click.IntRange(1, 64), help="Of each application; a store has 1, others 16."
)
pages_option = click.option(
    "--pages", type=click.IntRange(16, 1 << 22), help="Of 4 KiB, of each application."
)
machine_option = click.option(
    "--machine", default=TWO_CHANNELS, show_default=True, help="A machine that comes with CXLab, or a .toml."
)


@click.group("study", help="Applications under an operating system, on a simulated machine.")
def command() -> None:
    """The group."""


def _applications(names: str, threads: int | None, pages: int | None) -> list[Application]:
    return [Application.of(name.strip(), threads, pages) for name in names.split(",")]


def _times(applications: Sequence[Application]) -> tuple[str, str]:
    return STORE_TIMES if all(application.is_store for application in applications) else TIMES


@command.command("run", help="One placement and one policy.")
@app_option
@threads_option
@pages_option
@machine_option
@click.option("--share", default=0, show_default=True, help="Of the pages on CXL memory at first [%].")
@click.option("--tiering", type=click.Choice(TIERINGS), default="none", show_default=True)
@click.option(
    "--fast-frames", type=click.IntRange(16), help="Frames of DRAM; without, there is room for all."
)
@click.option("--swap", is_flag=True, help="DRAM and an SSD, no CXL memory.")
@click.option("--rate", type=float, help="Requests a second to each thread of a store.")
@click.option("--warm", help="Simulated time before counting, such as '1 ms'.")
@click.option("--measure", help="Simulated time that is counted.")
@json_option
def run_one(
    names: str,
    threads: int | None,
    pages: int | None,
    machine: str,
    share: int,
    tiering: str,
    fast_frames: int | None,
    swap: bool,
    rate: float | None,
    warm: str | None,
    measure: str | None,
    json_file: Path | None,
) -> None:
    """One interval."""
    try:
        applications = _applications(names, threads, pages)
        if rate is not None:
            applications = [app.at(rate) if app.is_store else app for app in applications]
        usual = _times(applications)
        study = Study(
            applications,
            Share(share),
            machine,
            tiering,
            fast_frames,
            swap,
            warm or usual[0],
            measure or usual[1],
        )
        [outcome] = run([study])
    except PlaceError as error:
        raise InputError(str(error)) from error
    _show(names.split(","), outcome)
    if json_file is not None:
        result.write(json_file, outcome.document)


def _show(names: Sequence[str], outcome: Outcome) -> None:
    console = Console()
    table = Table("application", "work", "p50, p99", "on CXL", "in the kernel")
    for name, process in zip(names, outcome.document["processes"], strict=True):
        latency = process["latency_us"]
        table.add_row(
            name,
            f"{process['work_per_second']:,.0f} {process['unit']}/s",
            "-" if latency is None else f"{latency['p50']:.1f}, {latency['p99']:.1f} us",
            f"{process['resident'].get('cxl', 0.0):.1%}",
            f"{process['kernel_share']:.1%}",
        )
    console.print(table)
    for node, figures in outcome.document["nodes"].items():
        console.print(f"{node}: {figures['read_mb_s']:,.0f} MB/s read, {figures['write_mb_s']:,.0f} written")
    happened = {name: value for name, value in outcome.document["os"].items() if value}
    console.print(", ".join(f"{name} {value:,.0f}" for name, value in happened.items()) or "no page moved")


@command.command("sweep", help="Throughput at shares of CXL memory from 0 to 100 %.")
@app_option
@threads_option
@pages_option
@machine_option
@click.option("--step", default=10, show_default=True, type=click.IntRange(1, 50), help="[%]")
@plot_option
@json_option
def sweep(
    names: str,
    threads: int | None,
    pages: int | None,
    machine: str,
    step: int,
    plot_file: Path | None,
    json_file: Path | None,
) -> None:
    """A static sweep."""
    shares = [Share(percent) for percent in range(0, 101, step)]
    try:
        applications = _applications(names, threads, pages)
        warm, measure = _times(applications)
        outcomes = run([Study(applications, share, machine, warm=warm, measure=measure) for share in shares])
    except PlaceError as error:
        raise InputError(str(error)) from error
    best = max(outcome.work for outcome in outcomes)
    table = Table("on CXL", "work of all [1/s]", "of the best")
    for share, outcome in zip(shares, outcomes, strict=True):
        table.add_row(f"{share.percent} %", f"{outcome.work:,.0f}", f"{outcome.work / best:.1%}")
    Console().print(table)
    if plot_file is not None:
        points = [
            (share.percent, outcome.work / best) for share, outcome in zip(shares, outcomes, strict=True)
        ]
        plot.lines(
            plot_file, f"{names}: static shares", "on CXL [%]", "of the best", [plot.Line(names, points)]
        )
    if json_file is not None:
        result.write(
            json_file,
            {"shares": [share.percent for share in shares], "intervals": [o.document for o in outcomes]},
        )


@command.command("caption", help="Caption steers the share; microseconds stand for the paper's seconds.")
@app_option
@threads_option
@pages_option
@machine_option
@click.option("--mode", type=click.Choice(["paper", "adaptive"]), default="adaptive", show_default=True)
@click.option("--start", default=50, show_default=True, help="Share of CXL memory at first [%].")
@click.option(
    "--objective", type=click.Choice(["throughput", "published"]), default="throughput", show_default=True
)
@click.option(
    "--model",
    "model_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A fitted model (cxlab-caption fit) as the objective.",
)
@click.option("--executions", default=24, show_default=True, type=click.IntRange(1, 1000))
@click.option("--log", "log_file", type=click.Path(path_type=Path), help="One JSON line for each execution.")
@plot_option
def steer(
    names: str,
    threads: int | None,
    pages: int | None,
    machine: str,
    mode: str,
    start: int,
    objective: str,
    model_file: Path | None,
    executions: int,
    log_file: Path | None,
    plot_file: Path | None,
) -> None:
    """Caption above the model."""
    try:
        climbed: Any = objective if model_file is None else {"model": json.loads(model_file.read_text())}
        applications = _applications(names, threads, pages)
        sample = "2 ms" if all(app.is_store for app in applications) else "12 us"
        settings = CaptionSettings(mode, start, climbed, executions, sample=sample)
        study = Study(applications, Share(start), machine, warm="60 us")
        warm, measure = _times(applications)
        [alone] = run([Study(applications, Share(0), machine, warm=warm, measure=measure)])
        normal = [process["work_per_second"] for process in alone.document["processes"]]
        seen: list[dict[str, Any]] = []
        with contextlib.nullcontext() if log_file is None else log_file.open("w") as log:
            try:
                caption([(study, settings, normal)], partial(_heard, seen, log))
            finally:
                # Ended by ctrl-C, too: what was steered so far.
                if plot_file is not None and seen:
                    draw(plot_file, names, seen)
    except (PlaceError, OSError, json.JSONDecodeError) as error:
        raise InputError(str(error)) from error


def _heard(
    executions: list[dict[str, Any]], log: TextIO | None, _job: int, execution: dict[str, Any]
) -> None:
    executions.append(execution)
    click.echo(
        f"{len(executions):3}  {execution['share']:6.1%} CXL  {execution['throughput']:6.3f} of DDR alone"
        f"  {execution['verdict'] or '-'}"
    )
    if log is not None:
        log.write(json.dumps(execution) + "\n")
        log.flush()


def draw(path: Path, title: str, executions: Sequence[dict[str, Any]]) -> None:
    """Share and throughput over executions."""
    numbered = list(enumerate(executions, 1))
    plot.lines(
        path,
        f"{title}: Caption",
        "execution",
        "share of CXL memory; throughput over DDR alone",
        [
            plot.Line("share of CXL memory", [(number, e["share"]) for number, e in numbered]),
            plot.Line("throughput", [(number, e["throughput"]) for number, e in numbered]),
        ],
    )
