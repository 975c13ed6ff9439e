"""``cxlab compare``: how much slower a program is on other memory, and why."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from cxlab.cli import columns, comparison
from cxlab.cli.output_file import json_option
from cxlab.cli.sections import Sectioned
from cxlab.compare import report
from cxlab.file_format import Format
from cxlab.output import write_json
from cxlab.run.options import cxl, files, placement, plot, sampling, simulated, table, timeline
from cxlab.run.options import detail as detail_options
from cxlab.run.options.option import Command, Given

#: Options of a run that a comparison asks in its own way, or not at all.
NOT_OURS = (
    simulated.MACHINE,
    files.JSON,
    files.RECORD,
    timeline.TIMELINE,
    timeline.WINDOW,
    plot.OPTION,
    detail_options.STATS,
    sampling.SEED,
    # A column would find what the one before it has left.
    cxl.PERSISTENT_IN,
)
OPTIONS = tuple(option for option in table.GUEST if option not in NOT_OURS)
#: Where the placements stand on a command line, in its order.
ORDER = "cxlab.compare.placements"


class _InOrder(click.Option):
    """A repeatable option whose values are kept in the order of the command line, with those of its like."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add the option as click does, and note each value as it is met."""
        super().add_to_parser(parser, ctx)
        for flag in self.opts:
            known = parser._long_opt[flag]
            known.process = _noted(known.process, flag, ctx)


def _noted(process: Callable[[str, Any], None], flag: str, ctx: click.Context) -> Callable[[str, Any], None]:
    def note(value: str, state: Any) -> None:
        ctx.meta.setdefault(ORDER, []).append((flag, value))
        process(value, state)

    return note


def _placements(command: Command) -> Command:
    for option in reversed(placement.POLICIES):
        declare = click.option(
            option.flag,
            option.key,
            cls=_InOrder,
            multiple=True,
            metavar=option.settings["metavar"],
            help=option.help.replace("  Example", " Repeatable, a column each.  Example"),
        )
        command = declare(command)
    return command


@click.command(
    "compare",
    cls=Sectioned,
    context_settings={"allow_interspersed_args": False},
    help="Say how much slower a program is on CXL, and why.\n\n"
    "Each machine and each placement is a column. The others are compared with the first one. If you give no "
    "placement, the columns are the machine's first memory and its CXL memory.\n\n"
    "PROGRAM runs once. The other columns replay its recording. If a replay would not be exact, each column "
    "runs in a guest of its own, and the command says why. For a long PROGRAM add --sample auto.\n\n"
    "What PROGRAM writes to its standard output is kept in the folder of its run. `cxlab report` makes "
    "a page "
    "of the folder of all columns. "
    "\n\nExample: cxlab compare --membind dram --membind cxl -- sort big.txt",
    epilog="Exit status: 0; 125 if the simulator fails, 126 or 127 if PROGRAM cannot be executed or is not "
    "found, 128 + n if a signal ended the comparison.",
)
@click.option(
    "--machine",
    "machines",
    multiple=True,
    metavar="NAME|FILE",
    help=f"Machine of the columns. Repeatable.  [default: {simulated.DEFAULT}]  Example: 8468v-fpga",
)
@_placements
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of runs of each column. Their scatter gives the interval. Each seed changes the length "
    "of the "
    "program's environment, and the places of the windows of --sample.  Example: 5",
)
@click.option("--anew", is_flag=True, help="Run PROGRAM in each column, and replay nothing.  [default: off]")
@json_option
@partial(table.declare, OPTIONS)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
def command(
    program: tuple[str, ...],
    machines: tuple[str, ...],
    seeds: int,
    anew: bool,
    json_file: Path | None,
    **values: Any,
) -> int:
    """A sentence for each column against the first, then one table, on standard output."""
    given = Given({**_defaults(), **values})
    placements = click.get_current_context().meta.get(ORDER, [])
    settings = simulated.settings(given)
    planned = columns.plan(
        machines or (simulated.DEFAULT,), settings, placements, has_choice=len(machines) > 1
    )
    measured = columns.measure(given, planned, program, seeds=seeds, anew=anew)
    if isinstance(measured, int):
        return measured
    kept = measured[0].folder
    if kept is not None:
        write_json(kept.parent / report.COMPARISON, comparison.document(measured), Format.COMPARISON)
    comparison.show(measured, json_file)
    return 0


def _defaults() -> dict[str, Any]:
    """Values of the options that a comparison does not have."""
    options = (*NOT_OURS, *placement.POLICIES)
    return {
        option.key: option.settings.get("default", False if option.settings.get("is_flag") else None)
        for option in options
    }
