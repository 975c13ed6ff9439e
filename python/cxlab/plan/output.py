"""Output of a study: rows of CSV, parts of the JSON, and the assumptions for people."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from cxlab.output import Cell, wrapped, write_csv
from cxlab.plan.assumption import Assumption, Origin

if TYPE_CHECKING:  # the results this module writes; their solver is not needed to write them
    from cxlab.plan.pareto import ParetoPoint
    from cxlab.plan.uncertainty import Bar, Grid, Spread

#: What is said of an assumption stands below its name, indented.
BELOW = " " * 6


def percent(fraction: float) -> str:
    """Write a fraction for people, two decimals as the paper does."""
    return f"{100 * fraction:.2f} %"


def print_assumptions(console: Console, assumptions: Iterable[Assumption]) -> None:
    """List every assumption with its source and date; what nobody published stands out."""
    console.print("\nAssumptions", style="bold")
    for a in assumptions:
        origin = a.provenance.origin
        line = Text(f"  {a.key} = {a.show()}", style="yellow" if origin is Origin.ASSUMED else "")
        fits = line.cell_len + 2 + len(a.meaning) <= console.width
        below = wrapped(a.meaning, BELOW, console.width)
        line.append(f"  {a.meaning}" if fits else f"\n{below}", style="dim")
        source = wrapped(f"{origin.value}, {a.provenance.date}: {a.provenance.source}", BELOW, console.width)
        for text in (line, Text(source, style="dim")):
            console.print(text, soft_wrap=True, highlight=False)


def assumptions_csv(path: Path, assumptions: Iterable[Assumption]) -> None:
    """Write every assumption."""
    rows = [a.as_json() for a in assumptions]
    header = list(rows[0])
    write_csv(path, header, [[str(row[key]) for key in header] for row in rows])


def tornado_csv(path: Path, bars: Iterable[Bar]) -> None:
    """Write a tornado's bars, the widest first."""
    header = ["input", "unit", "low", "high", "saving_at_low", "saving_at_high", "swing"]
    write_csv(
        path,
        header,
        [
            [
                bar.assumption.key,
                bar.assumption.unit,
                bar.assumption.value.low,
                bar.assumption.value.high,
                bar.at_low,
                bar.at_high,
                bar.swing,
            ]
            for bar in bars
        ],
    )


def grid_csv(path: Path, grid: Grid) -> None:
    """Write a heat map, one row a cell; an empty saving lies outside the model's domain."""
    units = [a.unit or "ratio" for a in (grid.x, grid.y)]
    rows: list[list[Cell]] = []
    for row, y in enumerate(grid.y_values):
        for column, x in enumerate(grid.x_values):
            saving = float(grid.outcome[row, column])
            rows.append([float(x), float(y), saving if math.isfinite(saving) else ""])
    write_csv(path, [f"{grid.x.key} [{units[0]}]", f"{grid.y.key} [{units[1]}]", "saving"], rows)


def pareto_csv(path: Path, points: Iterable[ParetoPoint], currency: str) -> None:
    """Write the Pareto points, with CXL memory and without."""
    header = ["cxl_allowed", "mean_slowdown", f"tco [{currency}]", "servers", "dram [GiB]", "cxl [GiB]"]
    write_csv(
        path,
        header,
        [
            [
                str(point.with_cxl).lower(),
                point.plan.mean_slowdown,
                point.plan.tco,
                point.plan.servers,
                point.plan.design.dram,
                point.plan.design.cxl,
            ]
            for point in points
        ],
    )


def tornado_json(bars: Iterable[Bar]) -> list[dict[str, object]]:
    """Return a tornado as the JSON output holds it."""
    return [
        {"input": bar.assumption.key, "saving_at_low": bar.at_low, "saving_at_high": bar.at_high}
        for bar in bars
    ]


def spread_json(spread: Spread | None) -> dict[str, object] | None:
    """Return a spread as the JSON output holds it."""
    if spread is None:
        return None
    return {
        "draws": spread.draws,
        "dropped": spread.dropped,
        "p5": spread.p5,
        "p50": spread.p50,
        "p95": spread.p95,
        "chance_positive": spread.chance_positive,
    }


def grid_json(grid: Grid) -> dict[str, object]:
    """Return a heat map as the JSON output holds it; rows are y."""
    return {
        "x": grid.x.key,
        "y": grid.y.key,
        "x_values": grid.x_values.tolist(),
        "y_values": grid.y_values.tolist(),
        "saving": grid.outcome.tolist(),
    }
