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

from pathlib import Path

import click

from cxlab.bench import plot, result, sweep
from cxlab.bench.request import DELAYS, SIZES, Mix, Placement, Workload, parse_size
from cxlab.bench.result import Result
from cxlab.border import (
    ChaseOrder,
    Instruction,
    Isa,
    Pages,
    Pattern,
    Store,
    StreamKernel,
    Work,
)
from cxlab.cli.bench_options import (
    chase_option,
    drawn,
    isa_option,
    load,
    of_cache_option,
    of_caches_option,
    paged,
    store_option,
    threads_option,
    where,
)
from cxlab.cli.bench_points import each, finish, measured, of_cache, show_spread
from cxlab.cli.output_file import plot_option
from cxlab.error import Code, InputError
from cxlab.output import console, write_json

MESS_MIXES = ("1:0", "4:1", "3:1", "2:1", "3:2", "1:1")


@click.group(
    "bench",
    help="Measure a machine with microbenchmarks.\n\n"
    "The machine is simulated. With --host it is this host, which cxlab-memo measures. "
    "Example: cxlab bench latency --machine spr-a1000 --node cxl",
)
def command() -> None:
    """The group."""


@command.command(
    "latency",
    help="Measure load-to-use latency without load.\n\n"
    "One thread follows a random chain of pointers. The table shows where a load's time goes. "
    "Example: cxlab bench latency --machine spr-a1000 --node cxl",
)
@where
@paged
@chase_option
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="SIZE",
    help="Walk over a buffer of this size from warm caches. Repeatable.  Example: 32MiB",
)
@click.option(
    "--sweep", "whole", is_flag=True, help="Walk over buffers of 1 KiB to 1 GiB, as lat_mem_rd does."
)
@of_caches_option
def latency(
    machine: str,
    placement: Placement,
    prefetch: bool | None,
    seeds: int,
    json_file: Path | None,
    sizes: tuple[str, ...],
    pages: Pages,
    page_tables: str | None,
    chase: ChaseOrder,
    whole: bool,
    of_caches: tuple[float, ...],
) -> None:
    """One point without load, or a point for each size."""
    workload = Workload(
        machine, placement, threads=0, prefetch=prefetch, pages=pages, page_tables=page_tables, chase=chase
    )
    if sum(map(bool, (whole, sizes, of_caches))) > 1:
        raise InputError(Code.BENCH, "--size, --sweep, --of-cache", "several are given", "one of them")
    if of_caches:
        outcome = of_cache("latency", workload, of_caches, seeds)
        finish(outcome, seeds, json_file)
        return
    if whole or sizes:
        walked = SIZES if whole else tuple(parse_size(size) for size in sizes)
        jobs = [workload.job_of({"walk": {"size": size}}) for size in walked]
        outcome = measured("latency", workload, jobs, seeds, ("size", walked))
        for size, point in zip(walked, outcome.points, strict=True):
            click.echo(f"{size:>10}\t{result.counted(point.latency_ns):8.2f} ns")
        finish(outcome, seeds, json_file)
        return
    outcome = measured("latency", workload, [workload.job(0)], seeds)
    click.echo(f"{machine}, {placement}: {result.counted(outcome.points[0].latency_ns):.1f} ns")
    console().print(result.stages_table(outcome.points[0]))
    finish(outcome, seeds, json_file)


@command.command(
    "loaded-latency",
    help="Measure latency under load, as Intel MLC does.\n\n"
    "Load threads wait an inject delay between accesses. One thread measures latency meanwhile. "
    "Example: cxlab bench loaded-latency --machine spr-a1000 --node cxl --sweep --plot curve.png",
)
@where
@load
@chase_option
@click.option(
    "--delay",
    type=click.IntRange(0, 10_000_000),
    help="Inject delay after every four loads or stores, in core cycles.  Example: 300",
)
@click.option(
    "--sweep",
    "whole",
    is_flag=True,
    help="Measure at all of MLC's delays, from 0 (the peak) to 20000 (idle).",
)
@of_cache_option
@drawn
def loaded_latency(
    machine: str,
    placement: Placement,
    prefetch: bool | None,
    seeds: int,
    json_file: Path | None,
    threads: int,
    mix: str,
    store: Store,
    pattern: Pattern,
    isa: Isa,
    chase: ChaseOrder,
    delay: int | None,
    whole: bool,
    of_cache: float | None,
    plot_file: Path | None,
    beside: tuple[Path, ...],
) -> None:
    """A point or a curve."""
    if (delay is None) != whole:
        raise InputError(Code.BENCH, "--delay, --sweep", "none or both are given", "exactly one of them")
    workload = Workload(
        machine,
        placement,
        threads,
        Mix.parse(mix),
        store,
        pattern,
        prefetch=prefetch,
        chase=chase,
        isa=isa,
        of_cache=of_cache,
    )
    delays = DELAYS if delay is None else (delay,)
    outcome = measured("loaded-latency", workload, [workload.job(d) for d in delays], seeds)
    click.echo("\n".join(result.mlc_lines(outcome)))
    if delay is not None:
        console().print(result.stages_table(outcome.points[0]))
    if plot_file is not None:
        mine = plot.of_document(outcome.document()) if beside else [plot.of(outcome, f"{mix} {store}")]
        plot.curves(plot_file, _title(outcome), [*mine, *_read(beside)])
    finish(outcome, seeds, json_file)


@command.command(
    "bandwidth",
    help="Measure peak bandwidth: all threads at full speed.\n\n"
    "Example: cxlab bench bandwidth --machine spr-a1000 --node cxl --mix 2:1",
)
@where
@load
@of_caches_option
@plot_option
def bandwidth(
    machine: str,
    placement: Placement,
    prefetch: bool | None,
    seeds: int,
    json_file: Path | None,
    threads: int,
    mix: str,
    store: Store,
    pattern: Pattern,
    isa: Isa,
    of_caches: tuple[float, ...],
    plot_file: Path | None,
) -> None:
    """One point without delay and without a latency thread."""
    workload = Workload(
        machine,
        placement,
        threads,
        Mix.parse(mix),
        store,
        pattern,
        latency_thread=False,
        prefetch=prefetch,
        isa=isa,
    )
    if plot_file is not None and not of_caches:
        raise InputError(
            Code.BENCH, "--plot", "has one point to draw", "--plot with --of-cache, once for each ratio"
        )
    if of_caches:
        outcome = of_cache("bandwidth", workload, of_caches, seeds)
        if plot_file is not None:
            plot.cliff(plot_file, _title(outcome), outcome)
        finish(outcome, seeds, json_file)
        return
    outcome = measured("bandwidth", workload, [workload.job(0)], seeds, ("mix", [mix]))
    console().print(result.points_table(outcome))
    finish(outcome, seeds, json_file)


#: What `stream` and `memo` vary.
KERNELS: tuple[StreamKernel, ...] = ("copy", "scale", "add", "triad")
INSTRUCTIONS: tuple[Instruction, ...] = ("ld", "nt-ld", "st", "st-wb", "nt-st")


@command.command(
    "stream",
    help="Measure STREAM's copy, scale, add and triad.\n\n"
    "Bytes are counted as STREAM counts them. Example: cxlab bench stream --machine spr-a1000 --node cxl",
)
@where
@threads_option(least=1)
def stream(
    machine: str,
    placement: Placement,
    prefetch: bool | None,
    seeds: int,
    json_file: Path | None,
    threads: int,
) -> None:
    """Four points."""
    workload = Workload(machine, placement, threads, prefetch=prefetch)
    works: dict[str, Work] = {kernel: {"stream": {"kernel": kernel}} for kernel in KERNELS}
    each("stream", workload, "kernel", works, seeds, json_file)


@command.command(
    "embedding",
    help="Measure embedding reduction, as MERCI does.\n\n"
    "Threads gather rows at random and add them up. "
    "Example: cxlab bench embedding --machine spr-a1000 --node cxl",
)
@where
@click.option(
    "--threads",
    "counts",
    default=(12, 48),
    show_default=True,
    multiple=True,
    type=int,
    help="Number of threads. Repeatable: one point for each.",
)
def embedding(
    machine: str,
    placement: Placement,
    prefetch: bool | None,
    seeds: int,
    json_file: Path | None,
    counts: tuple[int, ...],
) -> None:
    """A point for each number of threads."""
    workloads = [Workload(machine, placement, count, prefetch=prefetch) for count in counts]
    jobs = [workload.job_of({"embedding": {}}) for workload in workloads]
    outcome = measured("embedding", workloads[0], jobs, seeds, ("threads", counts))
    console().print(result.embedding_table(outcome))
    finish(outcome, seeds, json_file)


@command.command(
    "memo",
    help="Measure the latency of each kind of load and store.\n\n"
    "The kinds are ld, nt-ld, st, st-wb (with clwb) and nt-st. Each point is 16 random accesses to flushed "
    "lines, divided by 16 (MICRO'23). Example: cxlab bench memo --machine 8468v-asic --node cxl",
)
@where
@paged
def memo(
    machine: str,
    placement: Placement,
    prefetch: bool | None,
    seeds: int,
    json_file: Path | None,
    pages: Pages,
    page_tables: str | None,
) -> None:
    """A point for each instruction."""
    workload = Workload(
        machine, placement, threads=0, prefetch=prefetch, pages=pages, page_tables=page_tables
    )
    works: dict[str, Work] = {one: {"memo": {"instruction": one}} for one in INSTRUCTIONS}
    each("memo", workload, "instruction", works, seeds, json_file)


@command.command(
    "mess",
    help="Measure latency under load for a family of mixes.\n\n"
    "The method is Mess's (Esmaili-Dokht et al., MICRO'24). "
    "Example: cxlab bench mess --machine spr-a1000 --node cxl --plot mess.png",
)
@where
@threads_option(least=1)
@click.option(
    "--mixes",
    default=",".join(MESS_MIXES),
    show_default=True,
    metavar="R:W,...",
    help="Ratios of lines read to lines written at the memory.",
)
@store_option
@isa_option
@drawn
def mess(
    machine: str,
    placement: Placement,
    prefetch: bool | None,
    seeds: int,
    json_file: Path | None,
    threads: int,
    mixes: str,
    store: Store,
    isa: Isa,
    plot_file: Path | None,
    beside: tuple[Path, ...],
) -> None:
    """A curve for each mix."""
    family = [
        Workload(
            machine,
            placement,
            threads,
            Mix.parse(mix.strip()),
            store,
            prefetch=prefetch,
            chase="buffer",
            isa=isa,
        )
        for mix in mixes.split(",")
    ]
    jobs = [workload.job(delay) for workload in family for delay in DELAYS]
    points, spreads = sweep.run_seeds(jobs, seeds, "mess")
    outcomes = []
    for place, workload in enumerate(family):
        its = slice(place * len(DELAYS), (place + 1) * len(DELAYS))
        mixes_of = ("mix", [str(workload.mix)] * len(DELAYS))
        outcomes.append(Result("mess", workload, points[its], mixes_of, spreads[its]))
    for outcome in outcomes:
        click.echo(f"\n{machine}, {placement}, {outcome.workload.mix} {store}")
        click.echo("\n".join(result.mlc_lines(outcome)))
        show_spread(outcome, seeds)
    if plot_file is not None:
        lines = [plot.of(outcome, str(outcome.workload.mix)) for outcome in outcomes]
        title = f"{machine}, {placement}: {threads} threads, reads to writes"
        plot.curves(plot_file, title, [*lines, *_read(beside)])
    if json_file is not None:
        document = outcomes[0].document()
        document["mix"] = [str(outcome.workload.mix) for outcome in outcomes]
        document["points"] = [point for outcome in outcomes for point in outcome.documents()]
        write_json(json_file, document)


def _read(files: tuple[Path, ...]) -> list[plot.Curve]:
    return [curve for file in files for curve in plot.read(file)]


def _title(outcome: Result) -> str:
    workload = outcome.workload
    return f"{workload.machine}, {workload.placement}: {workload.threads} threads, {workload.pattern}"
