"""``cxlab top``: which functions and which data wait for CXL memory."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from cxlab import output
from cxlab.cli import figures
from cxlab.output import write_json, write_text
from cxlab.run.errors import BadRequest
from cxlab.top import export, objects, profile, ranking
from cxlab.top.names import Names

FORMATS = {".json": "speedscope", ".txt": "collapsed stacks", ".folded": "collapsed stacks"}


@click.command(
    "top",
    help="Say which functions and which data wait for CXL memory.\n\n"
    "RUN is the folder of a run with --profile, or a file of `cxlab replay --profile`. Data are variables, "
    "or memory by where it was allocated. What only stores wait for is not shown. Lines need debug "
    "information (gcc -g) and addr2line. "
    "\n\nExample: cxlab top cxlab-runs/mine --export waits.json",
)
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "--node",
    metavar="NODE",
    help="Memory node whose waits are shown.  [default: every node but the first]  Example: dram",
)
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Number of rows in each table.  Example: 30",
)
@click.option(
    "--object",
    "more",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE",
    help="A program or library with code of the run: a child's program, or a plugin. Repeatable.  "
    "[default: the program and its libraries]  Example: build/worker",
)
@click.option(
    "--export",
    "exported",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write stacks with their stalls to this file: .json for speedscope, .txt or .folded for tools that "
    "read collapsed stacks.  [default: none]  Example: waits.json",
)
def command(run: Path, node: str | None, rows: int, more: tuple[Path, ...], exported: Path | None) -> int:
    """Two tables on standard output, and a file."""
    if exported is not None and exported.suffix not in FORMATS:
        raise BadRequest(f"--export {exported}: an unknown suffix; valid: {', '.join(FORMATS)}")
    found = profile.read(run)
    nodes = found.profile.nodes
    if node is not None and node not in nodes:
        raise BadRequest(f"--node {node}: the run has no such node; valid: {', '.join(nodes)}")
    wanted = {
        place for place, name in enumerate(nodes) if (name == node if node else place > 0 or len(nodes) == 1)
    }
    entries = [entry for entry in found.profile.entries if entry.node in wanted]
    names = Names(found.profile, objects.loaded(found.profile, objects.candidates(found, more)))
    title = ", ".join(nodes[place] for place in sorted(wanted))
    console = Console(highlight=False, soft_wrap=True)
    everything = ranking.total(entries)
    console.print(
        f"loads that wait for {title}: {everything.lines:,} lines, "
        f"{figures.seconds(everything.stall_ps / 1e12)} of stalls"
    )
    functions, data = ranking.functions(names, entries), ranking.data(names, entries)
    for what, ranked in (("function", functions), ("data", data)):
        table = output.table([what, "stall", "", "lines", "ns each"], plain=True)
        for name, waits in ranked[:rows]:
            latency = waits.mean_latency_ns
            table.add_row(
                Text(name),
                figures.seconds(waits.stall_ps / 1e12),
                f"{waits.stall_ps / everything.stall_ps:.1%}" if everything.stall_ps else "-",
                f"{waits.lines:,}",
                "-" if latency is None else f"{latency:.1f}",
            )
        console.print(table)
        if len(ranked) > rows:
            console.print(f"  and {len(ranked) - rows} more: --rows {len(ranked)}")
    if exported is not None:
        stacks = ranking.stacks(names, entries)
        if exported.suffix == ".json":
            write_json(exported, export.speedscope(stacks, f"{run.name}, {title}"), None)
            unit = ""
        else:
            made = export.collapsed(stacks)
            write_text(exported, made.text)
            unit = f", one count for {figures.seconds(made.count_ns / 1e9)} of stalls"
        click.echo(f"cxlab: {FORMATS[exported.suffix]}: {exported}{unit}", err=True)
    return 0
