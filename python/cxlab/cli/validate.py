"""``cxlab validate``: silicon, simulated, error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cxlab.bench import figures, plot, result, sweep, tables
from cxlab.bench.curves import Comparison, read_curves
from cxlab.bench.figures import Figure
from cxlab.bench.request import BenchError
from cxlab.cli.bench import InputError
from cxlab.cli.output import JSON_FILE, PLOT_FILE


@click.command("validate", help="Compare the simulated machines with silicon: peaks, latencies, errors.")
@click.option(
    "--reference",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with loaded-latency curves of the EuroSys'24 machine, as CSV.",
)
@click.option("--json", "json_file", type=JSON_FILE, help="Write all rows as JSON.")
@click.option("--plot", "plot_file", type=PLOT_FILE, help="Draw the curves beside silicon's.")
def command(reference: Path | None, json_file: Path | None, plot_file: Path | None) -> None:
    """All rows that a bench can answer."""
    rows = figures.shipped()
    jobs = [row.jobs() for row in rows]
    try:
        curves, refused = read_curves(reference) if reference else ([], [])
        jobs += [curve.jobs() for curve in curves]
        flat = sweep.run([job for group in jobs for job in group], "validation")
    except BenchError as error:
        raise InputError(str(error)) from error
    groups = _regroup(flat, [len(group) for group in jobs])
    simulated = [row.simulated(points) for row, points in zip(rows, groups, strict=False)]
    comparisons = [
        Comparison(curve, [(point["bandwidth_mb_s"], point["latency_ns"]) for point in points])
        for curve, points in zip(curves, groups[len(rows) :], strict=True)
    ]
    scored = [comparison for comparison in comparisons if comparison.curve.scored]
    _show(rows, simulated, scored, [c for c in comparisons if not c.curve.scored])
    console = result.console()
    for reason in refused:
        console.print(f"not answered: {reason}")
    if reference is None:
        console.print("no curves: give --reference FOLDER")
    if plot_file is not None and comparisons:
        _plot(plot_file, scored or comparisons)
    if json_file is not None:
        result.write(json_file, _document(rows, simulated, comparisons, refused))


def _show(
    rows: Sequence[Figure],
    simulated: Sequence[float],
    scored: Sequence[Comparison],
    bound: Sequence[Comparison],
) -> None:
    console = result.console()
    console.print(tables.figures(rows, simulated))
    for title, comparisons in (("8 threads and more, sequential", scored), ("bound by a thread", bound)):
        if comparisons:
            console.print(tables.bandwidths(title, comparisons))
            console.print(tables.latencies(title, comparisons))
    if scored:
        console.print(tables.by_mix(scored))


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
    rows: Sequence[Figure],
    simulated: Sequence[float],
    comparisons: Sequence[Comparison],
    refused: Sequence[str],
) -> dict[str, Any]:
    return {
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
