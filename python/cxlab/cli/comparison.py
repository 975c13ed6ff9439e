"""Output of `cxlab compare` and `cxlab diff`: a sentence for each column, one table, and perhaps JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cxlab import model, output
from cxlab.border import RunResult
from cxlab.compare import report
from cxlab.compare.parts import Unloaded
from cxlab.compare.slowdown import Column
from cxlab.compare.unloaded import stages_ns
from cxlab.file_format import Format


def unloaded(machine: str, results: Sequence[RunResult]) -> Unloaded:
    """Times of stages without load, for the memories that cores wait for.

    A machine that is no file and does not come with CXLab cannot be asked: all time at memories is latency.
    """
    if str(machine) not in model.machine_names() and not Path(machine).is_file():
        click.echo(
            f"cxlab: the machine {machine} is not here: latency and bandwidth are not told apart", err=True
        )
        return {}
    return stages_ns(machine, _nodes_in_use(results))


def _nodes_in_use(results: Sequence[RunResult]) -> list[str]:
    modes = [mode for result in results for mode in (result.cpi_stack.user, result.cpi_stack.kernel)]
    return list(dict.fromkeys(node for mode in modes for node, stages in mode.nodes_s.items() if stages))


def document(columns: Sequence[Column]) -> dict[str, Any]:
    """Make the document that `--json` writes."""
    return {"sentences": _sentences(columns), **report.document(columns)}


def _sentences(columns: Sequence[Column]) -> list[str]:
    first, *others = columns
    return [report.sentence(first, column) for column in others]


def show(columns: Sequence[Column], json_file: Path | None) -> None:
    """The first column is what the others are compared with."""
    if json_file is not None:
        output.write_json(json_file, document(columns), Format.COMPARISON)
    for sentence in _sentences(columns):
        output.say(sentence, "  ")
    output.console().print(report.table(columns))
    if report.has_untold_parts(columns):
        output.say(
            "-: too few windows of the sample tell of this part. Run the whole program, or give --sample "
            "more windows (a smaller `every`).",
            "   ",
        )
