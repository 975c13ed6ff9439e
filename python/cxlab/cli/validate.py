"""``cxlab validate``: silicon, simulated, error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import click

from cxlab.bench import blind, figures, plot, sweep, tables
from cxlab.bench.curves import Comparison, Point, read_curves
from cxlab.bench.figures import Figure
from cxlab.bench.result import counted
from cxlab.border import BenchPoint
from cxlab.cli.bench_options import seeds_option
from cxlab.cli.output_file import json_option, plot_option
from cxlab.error import Code, InputError
from cxlab.file_format import Format
from cxlab.output import console, write_json


@click.command(
    "validate",
    help="Compare the simulated machines with silicon.\n\n"
    "Prints each published figure beside the simulated one, with its error. "
    "\n\nExample: cxlab validate --json validation.json",
)
@click.option(
    "--reference",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder with the loaded-latency curves of the EuroSys'24 machine, as CSV.  [default: figures only]",
)
@click.option(
    "--blind",
    "blind_folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write predicted curves of servers that were not measured to this folder.  Example: predictions",
)
@seeds_option("means over them are compared")
@json_option
@plot_option
def command(
    reference: Path | None,
    blind_folder: Path | None,
    seeds: int,
    json_file: Path | None,
    plot_file: Path | None,
) -> None:
    """All rows that a bench can answer."""
    if blind_folder is not None:
        if reference or json_file or plot_file or seeds != 1:
            found = "stands beside --reference, --seeds, --json or --plot"
            raise InputError(Code.BENCH, "--blind", found, "--blind alone")
        for file in blind.write(blind_folder):
            console().print(f"written: {file}")
        return
    if plot_file is not None and reference is None:
        raise InputError(
            Code.CURVES, "--plot", "there are no curves to draw", "--plot FILE with --reference DIR"
        )
    rows = figures.shipped()
    jobs = [row.jobs() for row in rows]
    curves, refused = read_curves(reference) if reference else ([], [])
    jobs += [curve.jobs() for curve in curves]
    draws = sweep.run_drawn([job for group in jobs for job in group], seeds, "validation")
    lengths = [len(group) for group in jobs]
    # Of each row, then of each curve: its points in each draw.
    drawn = list(zip(*(_regroup(draw, lengths) for draw in draws), strict=True))
    simulated = [fmean(map(row.simulated, of_row)) for row, of_row in zip(rows, drawn, strict=False)]
    comparisons = [
        Comparison(curve, [_mean(point) for point in zip(*of_curve, strict=True)])
        for curve, of_curve in zip(curves, drawn[len(rows) :], strict=True)
    ]
    _show(rows, simulated, comparisons)
    out = console()
    if seeds == 1:
        out.print("one draw of the accesses (seed 1): --seeds N compares means over N draws")
    for reason in refused:
        out.print(f"not answered: {reason}")
    if reference is None:
        out.print("no curves: give --reference FOLDER")
    if plot_file is not None and comparisons:
        _plot(plot_file, comparisons)
    elif plot_file is not None:
        out.print(f"no plot: no curve of {reference} was answered")
    if json_file is not None:
        write_json(json_file, _document(seeds, rows, simulated, comparisons, refused), Format.VALIDATION)


def _show(rows: Sequence[Figure], simulated: Sequence[float], comparisons: Sequence[Comparison]) -> None:
    out = console()
    out.print(tables.figures(rows, simulated))
    if comparisons:
        out.print(tables.bandwidths(comparisons))
        out.print(tables.latencies(comparisons))
        out.print(tables.by_class(comparisons))


def _mean(drawn: Sequence[BenchPoint]) -> Point:
    """Bandwidth and latency of a point, over its draws."""
    return (
        fmean(counted(point.bandwidth_mb_s) for point in drawn),
        fmean(counted(point.latency_ns) for point in drawn),
    )


def _regroup(flat: list[Any], lengths: Sequence[int]) -> list[list[Any]]:
    points = iter(flat)
    return [[next(points) for _ in range(length)] for length in lengths]


def _plot(path: Path, comparisons: Sequence[Comparison]) -> None:
    lines = []
    for comparison in comparisons:
        lines.append(plot.Curve(comparison.curve.label, comparison.simulated))
        lines.append(plot.Curve(comparison.curve.label, comparison.curve.points, silicon=True))
    plot.curves(path, "simulated and silicon", lines)


def _document(
    seeds: int,
    rows: Sequence[Figure],
    simulated: Sequence[float],
    comparisons: Sequence[Comparison],
    refused: Sequence[str],
) -> dict[str, Any]:
    return {
        "seeds": seeds,
        "figures": [
            {
                "id": row.id,
                "machine": row.machine,
                "what": row.what,
                "role": row.role,
                "unit": row.unit,
                "silicon_low": row.low,
                "silicon_high": row.high,
                "simulated": value,
                "error": row.error(value),
            }
            for row, value in zip(rows, simulated, strict=True)
        ],
        "curves": [
            {
                "curve": comparison.curve.label,
                "role_of_peak": comparison.curve.role,
                "peak_mb_s": comparison.curve.peak,
                "simulated_peak_mb_s": comparison.peak,
                "peak_error": comparison.peak_error,
                "latency_errors_to_the_knee": comparison.below_knee(),
                "full_load_latency_ns": comparison.full_load()[0],
                "simulated_full_load_latency_ns": comparison.full_load()[1],
                "points": comparison.simulated,
            }
            for comparison in comparisons
        ],
        "not_answered": list(refused),
    }
