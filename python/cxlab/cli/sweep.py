"""``cxlab sweep``: every combination of a file's axes, each run once."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import click

from cxlab.output import bar, duration
from cxlab.run.host.progress import LOG_PERIOD
from cxlab.run.interruption import Interrupted, Interruption
from cxlab.sweep import estimate, file, folder, local, plan, slurm
from cxlab.sweep.plan import Run

#: Failed runs that are told.
TOLD = 10


@click.command(
    "sweep",
    help="Run every combination of the axes of FILE.\n\n"
    "Axes are machines, settings, placements, workloads and seeds. If the command is interrupted, give it "
    "again: it goes on, and repeats no finished run. "
    "\n\nExample: cxlab sweep lanes.toml",
)
@click.argument("sweep_file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of the results.  [default: cxlab-sweeps/NAME, by the file's name]",
)
@click.option(
    "--on",
    type=click.Choice(["local", "slurm"]),
    default="local",
    show_default=True,
    help="Run on this computer's processors, or on a Slurm cluster.",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    metavar="N",
    help="Number of runs at a time, with --on local.  [default: number of processors]",
)
@click.option(
    "--dry-run", is_flag=True, help="Only say how many runs there are, and about how long they take."
)
def command(sweep_file: Path, out: Path | None, on: str, processes: int | None, dry_run: bool) -> int:
    """Plan, run what is pending, say what failed."""
    sweep = file.read(sweep_file)
    runs = plan.runs_of(sweep)
    path = folder.PARENT / sweep.name if out is None else out
    if dry_run:
        _estimate(runs, folder.SweepFolder(path), processes)
        return 0
    with folder.held(path, sweep.name, runs, plan.machines_of(sweep)) as held, Interruption() as interruption:
        pending = held.pending(runs)
        click.echo(f"{len(runs)} runs, {len(runs) - len(pending)} of them finished; results in {path}")
        try:
            if on == "slurm":
                failed = slurm.run_all(runs, held, sweep.slurm, interruption, click.echo)
            else:
                held.remove_unfinished()
                failed = _locally(pending, held, interruption, processes)
        except Interrupted as interrupted:
            if on == "local":
                held.remove_unfinished()
            count = len(held.pending(runs))
            click.echo(
                f"interrupted: {count} of {len(runs)} runs are left; the same command goes on", err=True
            )
            return 128 + interrupted.number
        left = held.pending(runs)
    return _say(runs, left, failed, path)


def _locally(
    pending: Sequence[Run], held: folder.SweepFolder, interruption: Interruption, processes: int | None
) -> dict[str, str]:
    begun = said = time.monotonic()
    with bar() as progress:
        task = progress.add_task("runs", total=len(pending))
        count = 0

        def finished() -> None:
            """Move the bar; a log, which has none, gets a line a minute."""
            nonlocal count, said
            progress.advance(task)
            count, now = count + 1, time.monotonic()
            if progress.disable and now - said >= LOG_PERIOD:
                said = now
                left = duration((now - begun) * (len(pending) / count - 1))
                click.echo(f"{count} of {len(pending)} runs are finished, about {left} left", err=True)

        failed = local.run_all(pending, held, interruption, finished, processes)
    held.remove_unfinished()
    return failed


def _say(runs: Sequence[Run], left: Sequence[Run], failed: dict[str, str], path: Path) -> int:
    if not left:
        click.echo(f'all {len(runs)} runs are finished; ask: cxlab query "SELECT * FROM runs" {path}')
        return 0
    for run in left[:TOLD]:
        why = failed.get(run.name, "gave no result")
        click.echo(f"failed: {run.text()} ({run.name}): {why}", err=True)
    if len(left) > TOLD:
        click.echo(f"and {len(left) - TOLD} more", err=True)
    click.echo(f"{len(left)} of {len(runs)} runs failed; the same command tries them again", err=True)
    return 1


def _estimate(runs: Sequence[Run], where: folder.SweepFolder, processes: int | None) -> None:
    pending = where.pending(runs)
    processors = processes or len(os.sched_getaffinity(0))
    found = estimate.of(pending)
    click.echo(f"{len(runs)} runs, {len(runs) - len(pending)} of them finished")
    click.echo(f"about {duration(found.on(processors))} on {processors} processors of this computer")
    for name in found.unknown:
        count = sum(run.workload == name for run in pending)
        click.echo(f"and {count} guests of the workload {name}: unknown before one has run")
