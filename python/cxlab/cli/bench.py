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

from dataclasses import replace
from pathlib import Path

import click

from cxlab.bench import plot, result, sweep
from cxlab.bench.request import DELAYS, SIZES, Mix, parse_size
from cxlab.bench.result import Result
from cxlab.border import (
    ChaseOrder,
    Instruction,
    Isa,
    Store,
    StreamKernel,
    Work,
)
from cxlab.cli.bench_options import (
    Drawn,
    Load,
    Paged,
    Where,
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
from cxlab.cli.bench_points import each, finish, measured, of_cache, show_checked, show_spread
from cxlab.cli.output_file import plot_option
from cxlab.error import Code, InputError
from cxlab.file_format import Format
from cxlab.output import console, write_json

MESS_MIXES = ("1:0", "4:1", "3:1", "2:1", "3:2", "1:1")


@click.group(
    "bench",
    help="Measure a machine with microbenchmarks.\n\n"
    "The machine is simulated. With --host it is this host, which cxlab-memo measures. "
    "\n\nExample: cxlab bench latency --machine spr-a1000 --node cxl",
)
def command() -> None:
    """The group."""


@command.command(
    "latency",
    help="Measure load-to-use latency without load.\n\n"
    "One thread follows a random chain of pointers. The table shows where a load's time goes. "
    "\n\nExample: cxlab bench latency --machine spr-a1000 --node cxl",
)
@where
@paged
@chase_option
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="SIZE",
    help="Walk over a buffer of this size from warm caches. Repeatable, but not with --host.  Example: 32MiB",
)
@click.option(
    "--sweep",
    "whole",
    is_flag=True,
    help="Walk over buffers of 1 KiB to 1 GiB, as lat_mem_rd does. With --host: from 4 KiB.",
)
@of_caches_option
def latency(
    where: Where,
    paged: Paged,
    chase: ChaseOrder,
    sizes: tuple[str, ...],
    whole: bool,
    of_caches: tuple[float, ...],
) -> None:
    """One point without load, or a point for each size."""
    workload = replace(paged.on(where.workload()), chase=chase)
    if sum(map(bool, (whole, sizes, of_caches))) > 1:
        raise InputError(Code.BENCH, "--size, --sweep, --of-cache", "several are given", "one of them")
    if of_caches:
        outcome = of_cache("latency", workload, of_caches, where)
        finish(outcome, where)
        return
    if whole or sizes:
        walked = SIZES if whole else tuple(parse_size(size) for size in sizes)
        jobs = [workload.job_of({"walk": {"size": size}}) for size in walked]
        outcome = measured("latency", workload, jobs, where, ("size", walked))
        for size, point in zip(walked, outcome.points, strict=True):
            click.echo(f"{size:>10}\t{result.counted(point.latency_ns):8.2f} ns")
        finish(outcome, where)
        return
    outcome = measured("latency", workload, [workload.job(0)], where)
    latency = result.counted(outcome.points[0].latency_ns)
    click.echo(f"{where.machine}, {where.placement}: {latency:.1f} ns{outcome.of_seed}")
    console().print(result.stages_table(outcome))
    finish(outcome, where)


@command.command(
    "loaded-latency",
    help="Measure latency under load, as Intel MLC does.\n\n"
    "Load threads wait an inject delay between accesses. One thread measures latency meanwhile. "
    "\n\nExample: cxlab bench loaded-latency --machine spr-a1000 --node cxl --sweep --plot curve.png",
)
@where
@load
@chase_option
@click.option(
    "--delay",
    type=click.IntRange(0, 10_000_000),
    help="Delay after every four loads or stores of a load thread, in core cycles.  Example: 300",
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
    where: Where,
    load: Load,
    chase: ChaseOrder,
    delay: int | None,
    whole: bool,
    of_cache: float | None,
    drawn: Drawn,
) -> None:
    """A point or a curve."""
    if (delay is None) != whole:
        raise InputError(Code.BENCH, "--delay, --sweep", "none or both are given", "exactly one of them")
    workload = replace(load.on(where), chase=chase, of_cache=of_cache)
    delays = DELAYS if delay is None else (delay,)
    outcome = measured("loaded-latency", workload, [workload.job(d) for d in delays], where)
    click.echo("\n".join(result.mlc_lines(outcome)))
    if delay is not None:
        console().print(result.stages_table(outcome))
    if drawn.plot_file is not None:
        single = [plot.of(outcome, f"{load.mix} {load.store}")]
        mine = plot.of_document(outcome.document()) if drawn.beside else single
        plot.curves(drawn.plot_file, _title(outcome), [*mine, *_read(drawn.beside)])
    finish(outcome, where)


@command.command(
    "bandwidth",
    help="Measure peak bandwidth: all threads at full speed.\n\n"
    "Example: cxlab bench bandwidth --machine spr-a1000 --node cxl --mix 2:1",
)
@where
@load
@of_caches_option
@plot_option
def bandwidth(where: Where, load: Load, of_caches: tuple[float, ...], plot_file: Path | None) -> None:
    """One point without delay and without a latency thread."""
    workload = replace(load.on(where), latency_thread=False)
    if plot_file is not None and not of_caches:
        raise InputError(
            Code.BENCH, "--plot", "has one point to draw", "--plot with --of-cache, once for each ratio"
        )
    if of_caches:
        outcome = of_cache("bandwidth", workload, of_caches, where)
        if plot_file is not None:
            plot.cliff(plot_file, _title(outcome), outcome)
        finish(outcome, where)
        return
    outcome = measured("bandwidth", workload, [workload.job(0)], where, ("mix", [load.mix]))
    console().print(result.points_table(outcome))
    finish(outcome, where)


#: What `stream` and `memo` vary.
KERNELS: tuple[StreamKernel, ...] = ("copy", "scale", "add", "triad")
INSTRUCTIONS: tuple[Instruction, ...] = ("ld", "nt-ld", "st", "st-wb", "nt-st")


@command.command(
    "stream",
    help="Measure STREAM's copy, scale, add and triad.\n\n"
    "Bytes are counted as STREAM counts them.\n\nExample: cxlab bench stream --machine spr-a1000 --node cxl",
)
@where
@threads_option(least=1)
def stream(where: Where, threads: int) -> None:
    """Measure the four kernels of STREAM."""
    works: dict[str, Work] = {kernel: {"stream": {"kernel": kernel}} for kernel in KERNELS}
    each("stream", where.workload(threads), "kernel", works, where)


@command.command(
    "embedding",
    help="Measure embedding reduction, as MERCI does.\n\n"
    "Threads gather rows at random and add them up. "
    "\n\nExample: cxlab bench embedding --machine spr-a1000 --node cxl",
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
def embedding(where: Where, counts: tuple[int, ...]) -> None:
    """A point for each number of threads."""
    workloads = [where.workload(count) for count in counts]
    jobs = [workload.job_of({"embedding": {}}) for workload in workloads]
    outcome = measured("embedding", workloads[0], jobs, where, ("threads", counts))
    console().print(result.embedding_table(outcome))
    finish(outcome, where)


@command.command(
    "memo",
    help="Measure the latency of each kind of load and store.\n\n"
    "The kinds are ld, nt-ld, st, st-wb (with clwb) and nt-st. Each point is 16 random accesses to flushed "
    "lines, divided by 16 (MICRO'23).\n\nExample: cxlab bench memo --machine 8468v-asic --node cxl",
)
@where
@paged
def memo(where: Where, paged: Paged) -> None:
    """A point for each instruction."""
    works: dict[str, Work] = {one: {"memo": {"instruction": one}} for one in INSTRUCTIONS}
    each("memo", paged.on(where.workload()), "instruction", works, where)


@command.command(
    "mess",
    help="Measure latency under load for a family of mixes.\n\n"
    "The method is Mess's (Esmaili-Dokht et al., MICRO'24). "
    "\n\nExample: cxlab bench mess --machine spr-a1000 --node cxl --plot mess.png",
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
def mess(where: Where, threads: int, mixes: str, store: Store, isa: Isa, drawn: Drawn) -> None:
    """A curve for each mix."""
    common = replace(where.workload(threads), store=store, chase="buffer", isa=isa)
    family = [replace(common, mix=Mix.parse(mix.strip())) for mix in mixes.split(",")]
    jobs = [workload.job(delay) for workload in family for delay in DELAYS]
    points, spreads = sweep.run_seeds(jobs, where.seeds, "mess")
    outcomes = []
    for place, workload in enumerate(family):
        its = slice(place * len(DELAYS), (place + 1) * len(DELAYS))
        mixes_of = ("mix", [str(workload.mix)] * len(DELAYS))
        outcomes.append(Result("mess", workload, points[its], mixes_of, spreads[its]))
    for outcome in outcomes:
        click.echo(f"\n{where.machine}, {where.placement}, {outcome.workload.mix} {store}")
        click.echo("\n".join(result.mlc_lines(outcome)))
        show_spread(outcome, where.seeds)
    show_checked(points)
    if drawn.plot_file is not None:
        lines = [plot.of(outcome, str(outcome.workload.mix)) for outcome in outcomes]
        title = f"{where.machine}, {where.placement}: {threads} threads, reads to writes"
        plot.curves(drawn.plot_file, title, [*lines, *_read(drawn.beside)])
    if where.json_file is not None:
        document = outcomes[0].document()
        document["mix"] = [str(outcome.workload.mix) for outcome in outcomes]
        document["points"] = [point for outcome in outcomes for point in outcome.documents()]
        write_json(where.json_file, document, Format.BENCH)


def _read(files: tuple[Path, ...]) -> list[plot.Curve]:
    return [curve for file in files for curve in plot.read(file)]


def _title(outcome: Result) -> str:
    workload = outcome.workload
    return f"{workload.machine}, {workload.placement}: {workload.threads} threads, {workload.pattern}"
