"""``cxlab replay``: a recorded run through the model once more, without QEMU."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from cxlab.cli import figures
from cxlab.machine import description, replay
from cxlab.machine.errors import BadRequest
from cxlab.machine.interruption import Interrupted, Interruption
from cxlab.machine.progress import Progress
from cxlab.machine.run_directory import write_json


@click.command(
    "replay",
    help="Run a trace (`cxlab run --record FILE`) through the model, without QEMU. On the machine that it "
    "was recorded on, every answer that the guest was given must come out the same, bit for bit.",
)
@click.argument("trace", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--machine", metavar="NAME|FILE", help="Another machine than the recorded one.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Summary."
)
def command(trace: Path, machine: str | None, json_file: Path | None) -> int:
    """The same table as of a live run, on standard output."""
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise BadRequest(f"--json {json_file}: the folder {json_file.absolute().parent} does not exist")
    description.model()
    with Interruption() as interruption:
        try:
            document = replay.run(trace, machine, interruption, Progress(None, phase="replaying"))
        except Interrupted as interrupted:
            return 128 + interrupted.number
    if json_file is not None:
        write_json(json_file, {"trace": str(trace), **document})
    console = Console(highlight=False)
    figures.show(console, f"{document['machine']}, {trace}", document)
    same = "" if machine is not None else ": all the same"
    console.print(f"{document['answers_compared']:,} answers compared with the recorded ones{same}")
    return 0
