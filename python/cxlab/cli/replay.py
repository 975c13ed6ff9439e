"""``cxlab replay``: a recorded run through the model once more, without QEMU."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from cxlab import model
from cxlab.cli import figures, session
from cxlab.cli.sections import Sectioned
from cxlab.file_format import Format
from cxlab.output import write_json
from cxlab.run.host import replay
from cxlab.run.host.progress import Progress
from cxlab.run.interruption import Interrupted, Interruption
from cxlab.run.options import (
    checks,
    confinement,
    detail,
    files,
    placement,
    profile,
    sampling,
    simulated,
    table,
    timeline,
)
from cxlab.run.options.option import Given


@click.command(
    "replay",
    cls=Sectioned,
    help="Replay a recorded trace through the model, without QEMU.\n\n"
    "`cxlab run --record FILE` writes the trace. On the recorded machine, every answer to the guest must "
    "come out the same, bit for bit. On another machine or placement, the same instructions are timed. A "
    "program that would have taken another path is not followed. "
    "\n\nExample: cxlab replay run.trace --membind cxl",
)
@click.argument("trace", type=click.Path(path_type=Path), metavar="FILE")
@partial(
    table.declare,
    (
        simulated.ANOTHER,
        simulated.SET,
        *placement.POLICIES,
        files.JSON,
        confinement.JAIL,
        sampling.SAMPLE,
        sampling.SEED,
        timeline.TIMELINE,
        timeline.WINDOW,
        profile.TO_FILE,
        checks.OPTION,
        detail.STATS,
    ),
)
def command(trace: Path, **values: Any) -> int:
    """Print the table of the replayed run on standard output."""
    given = Given(values)
    files.check(given, (files.JSON, timeline.TIMELINE, profile.TO_FILE))
    shown = timeline.parse(given[timeline.TIMELINE], given[timeline.WINDOW])
    placed = placement.parse_again(**placement.policies(given))
    sampled = sampling.parse(given[sampling.SAMPLE], given[sampling.SEED])
    profile.check(sampled=sampled is not None, profiled=given[profile.TO_FILE] is not None)
    machine = simulated.asked(given[simulated.ANOTHER], given[simulated.SET])
    json_file = given[files.JSON]
    model.load()
    jail = session.confined(given[confinement.JAIL])
    with Interruption() as interruption:
        try:
            result = replay.run(
                trace,
                machine,
                jail,
                interruption,
                Progress(None, phase=replay.READING),
                timeline=shown,
                sample=sampled,
                placement=None if placed is None else placed[1],
                profile=given[profile.TO_FILE],
                check=given[checks.OPTION],
            )
        except Interrupted as interrupted:
            return 128 + interrupted.number
    if json_file is not None:
        asked = {"trace": str(trace), "placement": None if placed is None else placed[0]}
        document = model.document(result)
        write_json(
            json_file, {**asked, **{k: v for k, v in document.items() if k != "statistics"}}, Format.REPLAY
        )
    console = Console(highlight=False, soft_wrap=True)
    where = "" if placed is None else f", {placed[0]}"
    figures.show(console, f"{result.machine}, {trace}{where}", result, everything=given[detail.STATS])
    if sampled is not None:
        return 0
    same = "" if machine is not None or placed is not None else ": all the same"
    console.print(f"{result.answers_compared:,} answers compared with the recorded ones{same}")
    return 0
