"""``cxlab replay``: a recorded run through the model once more, without QEMU."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from cxlab.cli import figures, statistics
from cxlab.cli.sampling_options import sampling_options
from cxlab.cli.timeline_options import timeline_options
from cxlab.machine import description, placement, replay, sampling, timeline
from cxlab.machine.errors import BadRequest
from cxlab.machine.interruption import Interrupted, Interruption
from cxlab.machine.progress import Progress
from cxlab.machine.run_directory import write_json


@click.command(
    "replay",
    help="Run a trace (`cxlab run --record FILE`) through the model, without QEMU. On the machine that it "
    "was recorded on, every answer that the guest was given must come out the same, bit for bit. On another "
    "machine or placement the same instructions are timed: what the program would have done is not seen.",
)
@click.argument("trace", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--machine", metavar="NAME|FILE", help="Another machine than the recorded one.")
@click.option("--membind", metavar="NODE", help="The program's pages on this node instead.")
@click.option("--preferred", metavar="NODE", help="The same.")
@click.option("--interleave", metavar="NODES", help="The program's pages on these nodes in turn.")
@click.option(
    "--weighted-interleave", metavar="NODE=WEIGHT,...", help="Pages in turn, by weight. dram=3,cxl=1"
)
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Summary."
)
@sampling_options[0]
@sampling_options[1]
@timeline_options[0]
@timeline_options[1]
@click.option("--stats", is_flag=True, help="Show every statistic, with unit and description.")
def command(
    trace: Path,
    machine: str | None,
    membind: str | None,
    preferred: str | None,
    interleave: str | None,
    weighted_interleave: str | None,
    json_file: Path | None,
    sample: str | None,
    sample_seed: int,
    timeline_file: Path | None,
    window: str,
    stats: bool,
) -> int:
    """The same table as of a live run, on standard output."""
    for option, file in (("--json", json_file), ("--timeline", timeline_file)):
        if file is not None and not file.absolute().parent.is_dir():
            raise BadRequest(f"{option} {file}: the folder {file.absolute().parent} does not exist")
    shown = timeline.parse(timeline_file, window)
    placed = placement.parse_again(
        membind=membind,
        preferred=preferred,
        interleave=interleave,
        weighted_interleave=weighted_interleave,
    )
    sampled = sampling.parse(sample, sample_seed)
    description.model()
    with Interruption() as interruption:
        try:
            document = replay.run(
                trace,
                machine,
                interruption,
                Progress(None, phase="replaying"),
                timeline=shown,
                sample=sampled,
                placement=None if placed is None else placed[1],
            )
        except Interrupted as interrupted:
            return 128 + interrupted.number
    every = document.pop("statistics")
    if json_file is not None:
        asked = {"trace": str(trace), "placement": None if placed is None else placed[0]}
        write_json(json_file, {**asked, **document})
    console = Console(highlight=False)
    if stats:
        for line in statistics.lines(every):
            click.echo(line)
    where = "" if placed is None else f", {placed[0]}"
    figures.show(console, f"{document['machine']}, {trace}{where}", document)
    if sampled is not None:
        return 0
    same = "" if machine is not None or placed is not None else ": all the same"
    console.print(f"{document['answers_compared']:,} answers compared with the recorded ones{same}")
    return 0
