"""``cxlab validate``: silicon, simulated, error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from cxlab.bench import plot, result, sweep
from cxlab.bench.request import BenchError
from cxlab.bench.validation import Comparison, Figure, figures, read_curves
from cxlab.cli.bench import InputError

SHIPPED = Path(__file__).resolve().parents[3] / "validation" / "points.toml"


@click.command("validate", help="Compare the simulated machines with silicon: peaks, latencies, errors.")
@click.option(
    "--reference",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with loaded-latency curves of the EuroSys'24 machine, as CSV.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all rows as JSON.")
@click.option(
    "--plot", "plot_file", type=click.Path(path_type=Path), help="Draw the curves beside silicon's."
)
def command(reference: Path | None, json_file: Path | None, plot_file: Path | None) -> None:
    """All rows that a bench can answer."""
    console = Console()
    rows = figures(SHIPPED)
    jobs = [row.jobs() for row in rows]
    try:
        curves, refused = read_curves(reference) if reference else ([], [])
        jobs += [curve.jobs() for curve in curves]
        flat = sweep.run([job for group in jobs for job in group], "validation")
    except BenchError as error:
        raise InputError(str(error)) from error
    groups = _regroup(flat, [len(group) for group in jobs])
    simulated = [row.simulated(points) for row, points in zip(rows, groups, strict=False)]
    console.print(_figures(rows, simulated))
    comparisons = [
        Comparison(curve, [(point["bandwidth_mb_s"], point["latency_ns"]) for point in points])
        for curve, points in zip(curves, groups[len(rows) :], strict=True)
    ]
    scored = [comparison for comparison in comparisons if comparison.curve.scored]
    bound = [comparison for comparison in comparisons if not comparison.curve.scored]
    if scored:
        console.print(_curves("curves, 8 threads and more, sequential", scored))
        _scores(console, scored)
    if bound:
        console.print(_curves("curves bound by a thread", bound))
    for reason in refused:
        console.print(f"not answered: {reason}")
    if reference is None:
        console.print("no curves: give --reference FOLDER")
    if plot_file is not None and comparisons:
        _plot(plot_file, scored or comparisons)
    if json_file is not None:
        result.write(json_file, _document(rows, simulated, comparisons, refused))


def _regroup(flat: list[Any], lengths: Sequence[int]) -> list[list[Any]]:
    points = iter(flat)
    return [[next(points) for _ in range(length)] for length in lengths]


def _number(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _figures(rows: Sequence[Figure], simulated: Sequence[float]) -> Table:
    table = Table(title="figures of papers", title_justify="left")
    for heading in ("id", "machine", "what", "silicon", "simulated", "error", "role"):
        table.add_column(heading, justify="right" if heading in ("silicon", "simulated", "error") else "left")
    for row, value in zip(rows, simulated, strict=True):
        silicon = _number(row.low) if row.low == row.high else f"{_number(row.low)}..{_number(row.high)}"
        table.add_row(
            row.id,
            row.settings["machine"],
            row.what,
            f"{silicon} {row.unit}",
            f"{_number(value)} {row.unit}",
            f"{row.error(value):+.1%}",
            row.role,
        )
    return table


def _curves(title: str, comparisons: Sequence[Comparison]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("curve")
    for heading in (
        "peak",
        "simulated",
        "error",
        "latency to the knee",
        "worst",
        "full load",
        "simulated",
        "error",
    ):
        table.add_column(heading, justify="right")
    table.add_column("peak's role")
    for comparison in comparisons:
        errors = comparison.below_knee()
        silicon, loaded = comparison.full_load()
        table.add_row(
            comparison.curve.label,
            f"{comparison.curve.peak / 1e3:.1f} GB/s",
            f"{comparison.peak / 1e3:.1f} GB/s",
            f"{comparison.peak_error:+.1%}",
            f"{_mean(errors):.1%} of {len(errors)}" if errors else "-",
            f"{max(errors, key=abs):+.1%}" if errors else "-",
            f"{silicon:.0f} ns",
            f"{loaded:.0f} ns",
            f"{loaded / silicon - 1:+.0%}",
            comparison.curve.role,
        )
    return table


def _mean(errors: Sequence[float]) -> float:
    return sum(abs(error) for error in errors) / len(errors)


def _scores(console: Console, scored: Sequence[Comparison]) -> None:
    predicted = [comparison for comparison in scored if comparison.curve.role == "validation"]
    if predicted:
        peaks = _mean([comparison.peak_error for comparison in predicted])
        console.print(f"mean absolute error of predicted peaks: {peaks:.1%} of {len(predicted)} (target 5 %)")
    errors = [error for comparison in scored for error in comparison.below_knee()]
    console.print(
        f"mean absolute error of latency up to the knee: {_mean(errors):.1%} of {len(errors)} (target 8 %)"
    )


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
                "machine": row.settings["machine"],
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
