"""The points of a microbenchmark: run, shown and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from cxlab.bench import result, sweep
from cxlab.bench.request import Workload
from cxlab.bench.result import Result
from cxlab.border import BenchJob, BenchPoint, Work
from cxlab.cli import checked
from cxlab.cli.bench_options import Where
from cxlab.file_format import Format
from cxlab.output import console, write_json


def measured(
    bench: str,
    workload: Workload,
    jobs: Sequence[BenchJob],
    where: Where,
    varied: tuple[str, Sequence[Any]] | None = None,
) -> Result:
    """The points of all jobs, with their spread over the seeds."""
    points, spreads = sweep.run_seeds(jobs, where.seeds, bench)
    return Result(bench, workload, points, varied, spreads)


def show_spread(outcome: Result, seeds: int) -> None:
    """Show how far seeds are apart; where there was one, say so."""
    if outcome.spreads:
        console().print(result.spread_table(outcome, seeds))
    else:
        click.echo("one draw of the accesses (seed 1): --seeds N shows the spread", err=True)


def show_checked(points: Sequence[BenchPoint]) -> None:
    """Show what --check has checked, if it was given; of several seeds, the first one's."""
    found = [point.checked for point in points if point.checked is not None]
    if found:
        console().print(f"checked: {checked.sentence(checked.total(found))}", soft_wrap=False)


def of_cache(bench: str, workload: Workload, ratios: Sequence[float], where: Where) -> Result:
    """A point for each ratio of the buffers to the device's cache, shown with what the cache did."""
    jobs = [replace(workload, of_cache=ratio).job(0) for ratio in ratios]
    outcome = measured(bench, workload, jobs, where, ("of_cache", list(ratios)))
    console().print(result.cache_table(outcome))
    return outcome


def finish(outcome: Result, where: Where) -> None:
    """Write what was asked for."""
    show_spread(outcome, where.seeds)
    show_checked(outcome.points)
    if where.json_file is not None:
        write_json(where.json_file, outcome.document(), Format.BENCH)


def each(bench: str, workload: Workload, key: str, works: Mapping[str, Work], where: Where) -> None:
    """A point for each value of the one thing that ``bench`` varies."""
    jobs = [workload.job_of(work) for work in works.values()]
    outcome = measured(bench, workload, jobs, where, (key, list(works)))
    console().print(result.points_table(outcome))
    finish(outcome, where)
