"""``cxlab bench``: microbenchmarks on a simulated machine.

latency          one chase, where its time goes; over buffers of given sizes: lat_mem_rd
loaded-latency   Intel MLC's: load threads at an inject delay, one latency thread; --sweep gives the curve
bandwidth        all threads at full speed
stream           the four kernels of STREAM
memo             ld, nt-ld, st (alone, and with clwb), nt-st, 16 at a time (MICRO'23)
embedding        embedding reduction with 12 and 48 threads (MERCI)
mess             loaded latency over a family of mixes
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from cxlab.bench import plot, result, sweep
from cxlab.bench.request import DELAYS, PAGES, SIZES, BenchError, Mix, Placement, Workload, parse_size
from cxlab.bench.result import Result
from cxlab.cli import bench_host
from cxlab.cli.output import JSON_FILE, PLOT_FILE

F = TypeVar("F", bound=Callable[..., Any])
PLACEMENT = ("node", "interleave", "weighted_interleave")
MESS_MIXES = ("1:0", "4:1", "3:1", "2:1", "3:2", "1:1")


class InputError(click.ClickException):
    """Wrong input: exit status 2, as click's own usage errors."""

    exit_code = 2


def where(command: F) -> F:
    """Give a bench its machine, placement and outputs, or this host; turn its errors into messages."""

    @functools.wraps(command)
    def run(host: bool, **given: Any) -> Any:
        try:
            if host:
                return bench_host.measure(command.__name__.replace("_", "-"), given)
            machine, *named = (given.pop(option) for option in ("machine", *PLACEMENT))
            if machine is None:
                raise BenchError("give one of --machine NAME and --host")
            return command(machine=machine, placement=Placement.parse(*named), **given)
        except BenchError as error:
            raise InputError(str(error)) from error

    for option in reversed(
        (
            click.option("--machine", help="A machine that comes with CXLab, or a .toml file."),
            click.option("--host", is_flag=True, help="Measure this host instead, by cxlab-memo."),
            click.option("--node", help="The node that all lines are on; with --host its number."),
            click.option("--interleave", metavar="NODES", help="Page by page over these nodes: dram,cxl."),
            click.option(
                "--weighted-interleave", metavar="NODE=N,..", help="Page by page by weight: dram=3,cxl=1."
            ),
            click.option(
                "--prefetch/--no-prefetch",
                default=None,
                help="Prefetchers of the cores on or off.  [default: as the machine's host file]",
            ),
            click.option("--json", "json_file", type=JSON_FILE, help="Write the result as JSON."),
        )
    ):
        run = option(run)
    return run  # type: ignore[return-value]


def load(command: F) -> F:
    """Options of what load threads do."""
    for option in reversed(
        (
            click.option("--threads", default=16, show_default=True, type=click.IntRange(0, 64)),
            click.option(
                "--mix", default="1:0", show_default=True, help="Lines read to lines written at the memory."
            ),
            click.option(
                "--store",
                default="ordinary",
                show_default=True,
                type=click.Choice(["ordinary", "nontemporal"]),
            ),
            click.option(
                "--pattern",
                default="sequential",
                show_default=True,
                type=click.Choice(["sequential", "random"]),
            ),
        )
    ):
        command = option(command)
    return command


def drawn(command: F) -> F:
    """Options of a bench that is a curve."""
    plot_file = click.option(
        "--plot", "plot_file", type=PLOT_FILE, help="Draw the curve: a .png, .svg or .pdf."
    )
    beside = click.option(
        "--beside", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Draw the curves of this JSON too, simulated or of a host.",
    )  # fmt: skip
    return plot_file(beside(command))


def finish(outcome: Result, json_file: Path | None) -> None:
    """Write what was asked for."""
    if json_file is not None:
        result.write(json_file, outcome.document())


@click.group("bench", help="Microbenchmarks on a simulated machine, or on this host.")
def command() -> None:
    """The group."""


def paged(command: F) -> F:
    """Options of what pages buffers are made of, and where the page tables are."""
    for option in reversed(
        (
            click.option("--pages", default=PAGES[0], show_default=True, type=click.Choice(PAGES)),
            click.option(
                "--page-tables", metavar="NODE", help="The node of the page tables; the first unless said."
            ),
        )
    ):
        command = option(command)
    return command


@command.command("latency", help="One thread in a random chase: load to use, and where the time goes.")
@where
@paged
@click.option(
    "--size", "sizes", multiple=True, help="Walk over so much memory from warm caches: 32MiB. Repeatable."
)
@click.option("--sweep", "whole", is_flag=True, help="Sizes of 1 KiB to 1 GiB: the curve of lat_mem_rd.")
def latency(
    machine: str,
    placement: Placement,
    prefetch: bool | None,
    json_file: Path | None,
    sizes: tuple[str, ...],
    pages: str,
    page_tables: str | None,
    whole: bool,
) -> None:
    """One point without load, or a point for each size."""
    workload = Workload(
        machine, placement, threads=0, prefetch=prefetch, pages=pages, page_tables=page_tables
    )
    if whole or sizes:
        if whole and sizes:
            raise BenchError("give either --size or --sweep")
        walked = SIZES if whole else tuple(parse_size(size) for size in sizes)
        jobs = [workload.job_of({"walk": {"size": size}}) for size in walked]
        outcome = Result("latency", workload, sweep.run(jobs, "latency"))
        for size, point in zip(walked, outcome.points, strict=True):
            point["size"] = size
            click.echo(f"{size:>10}\t{point['latency_ns']:8.2f} ns")
        finish(outcome, json_file)
        return
    outcome = Result("latency", workload, sweep.run([workload.job(0)], "latency"))
    click.echo(f"{machine}, {placement}: {outcome.points[0]['latency_ns']:.1f} ns")
    result.console().print(result.stages_table(outcome.points[0]))
    finish(outcome, json_file)


@command.command("loaded-latency", help="Load threads at an inject delay, one latency thread (Intel MLC).")
@where
@load
@click.option(
    "--delay", type=click.IntRange(0, 10_000_000), help="Core cycles after every four loads or stores."
)
@click.option("--sweep", "whole", is_flag=True, help="All of MLC's delays, 0 (the peak) to 20000 (idle).")
@drawn
def loaded_latency(
    machine: str,
    placement: Placement,
    prefetch: bool | None,
    json_file: Path | None,
    threads: int,
    mix: str,
    store: str,
    pattern: str,
    delay: int | None,
    whole: bool,
    plot_file: Path | None,
    beside: tuple[Path, ...],
) -> None:
    """A point or a curve."""
    if (delay is None) != whole:
        raise BenchError("give exactly one of --delay N and --sweep")
    workload = Workload(machine, placement, threads, Mix.parse(mix), store, pattern, prefetch=prefetch)
    delays = DELAYS if delay is None else (delay,)
    outcome = Result(
        "loaded-latency", workload, sweep.run([workload.job(d) for d in delays], "loaded latency")
    )
    click.echo("\n".join(result.mlc_lines(outcome)))
    if delay is not None:
        result.console().print(result.stages_table(outcome.points[0]))
    if plot_file is not None:
        mine = plot.of_document(outcome.document()) if beside else [plot.of(outcome, f"{mix} {store}")]
        plot.curves(plot_file, _title(outcome), [*mine, *_read(beside)])
    finish(outcome, json_file)


@command.command("bandwidth", help="All threads at full speed.")
@where
@load
def bandwidth(
    machine: str,
    placement: Placement,
    prefetch: bool | None,
    json_file: Path | None,
    threads: int,
    mix: str,
    store: str,
    pattern: str,
) -> None:
    """One point without delay and without a latency thread."""
    workload = Workload(
        machine, placement, threads, Mix.parse(mix), store, pattern, latency_thread=False, prefetch=prefetch
    )
    outcome = Result("bandwidth", workload, sweep.run([workload.job(0)], "bandwidth"))
    for point in outcome.points:
        point["mix"] = mix
    result.console().print(result.points_table(outcome, "mix"))
    finish(outcome, json_file)


def each(bench: str, workload: Workload, key: str, values: tuple[str, ...], json_file: Path | None) -> None:
    """A point for each value of the one thing that ``bench`` varies."""
    jobs = [workload.job_of({bench: {key: value}}) for value in values]
    outcome = Result(bench, workload, sweep.run(jobs, bench))
    for value, point in zip(values, outcome.points, strict=True):
        point[key] = value
    result.console().print(result.points_table(outcome, key))
    finish(outcome, json_file)


@command.command("stream", help="STREAM's copy, scale, add and triad, counted as STREAM counts.")
@where
@click.option("--threads", default=16, show_default=True, type=click.IntRange(1, 64))
def stream(
    machine: str, placement: Placement, prefetch: bool | None, json_file: Path | None, threads: int
) -> None:
    """Four points."""
    workload = Workload(machine, placement, threads, prefetch=prefetch)
    each("stream", workload, "kernel", ("copy", "scale", "add", "triad"), json_file)


@command.command("embedding", help="Embedding reduction (MERCI): rows gathered at random and added up.")
@where
@click.option("--threads", "counts", default=(12, 48), show_default=True, multiple=True, type=int)
def embedding(
    machine: str, placement: Placement, prefetch: bool | None, json_file: Path | None, counts: tuple[int, ...]
) -> None:
    """A point for each number of threads."""
    workloads = [Workload(machine, placement, count, prefetch=prefetch) for count in counts]
    points = sweep.run([workload.job_of({"embedding": {}}) for workload in workloads], "embedding")
    outcome = Result("embedding", workloads[0], points)
    for count, point in zip(counts, outcome.points, strict=True):
        point["threads"] = count
    result.console().print(result.embedding_table(outcome))
    finish(outcome, json_file)


@command.command(
    "memo",
    help="ld, nt-ld, st, st-wb (with clwb), nt-st: 16 random accesses to flushed lines, over 16 (MICRO'23).",
)
@where
@paged
def memo(
    machine: str,
    placement: Placement,
    prefetch: bool | None,
    json_file: Path | None,
    pages: str,
    page_tables: str | None,
) -> None:
    """A point for each instruction."""
    workload = Workload(
        machine, placement, threads=0, prefetch=prefetch, pages=pages, page_tables=page_tables
    )
    each("memo", workload, "instruction", ("ld", "nt-ld", "st", "st-wb", "nt-st"), json_file)


@command.command("mess", help="Loaded latency over a family of mixes (Esmaili-Dokht et al., MICRO'24).")
@where
@click.option("--threads", default=16, show_default=True, type=click.IntRange(1, 64))
@click.option("--mixes", default=",".join(MESS_MIXES), show_default=True, help="R:W, separated by commas.")
@click.option(
    "--store", default="ordinary", show_default=True, type=click.Choice(["ordinary", "nontemporal"])
)
@drawn
def mess(
    machine: str,
    placement: Placement,
    prefetch: bool | None,
    json_file: Path | None,
    threads: int,
    mixes: str,
    store: str,
    plot_file: Path | None,
    beside: tuple[Path, ...],
) -> None:
    """A curve for each mix."""
    family = [
        Workload(machine, placement, threads, Mix.parse(mix.strip()), store, prefetch=prefetch)
        for mix in mixes.split(",")
    ]
    jobs = [workload.job(delay) for workload in family for delay in DELAYS]
    points = sweep.run(jobs, "mess")
    outcomes = []
    for place, workload in enumerate(family):
        mine = points[place * len(DELAYS) : (place + 1) * len(DELAYS)]
        for point in mine:
            point["mix"] = str(workload.mix)
        outcomes.append(Result("mess", workload, mine))
    for outcome in outcomes:
        click.echo(f"\n{machine}, {placement}, {outcome.workload.mix} {store}")
        click.echo("\n".join(result.mlc_lines(outcome)))
    if plot_file is not None:
        lines = [plot.of(outcome, str(outcome.workload.mix)) for outcome in outcomes]
        title = f"{machine}, {placement}: {threads} threads, reads to writes"
        plot.curves(plot_file, title, [*lines, *_read(beside)])
    if json_file is not None:
        document = outcomes[0].document()
        document["mix"] = [str(outcome.workload.mix) for outcome in outcomes]
        document["points"] = points
        result.write(json_file, document)


def _read(files: tuple[Path, ...]) -> list[plot.Curve]:
    return [curve for file in files for curve in plot.read(file)]


def _title(outcome: Result) -> str:
    workload = outcome.workload
    return f"{workload.machine}, {workload.placement}: {workload.threads} threads, {workload.pattern}"
