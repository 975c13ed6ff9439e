"""The figures of a study: tornado, heat map, break-even and Pareto, each as PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from cxlab.figure import save_each
from cxlab.plan.assumption import Assumption
from cxlab.plan.output import percent
from cxlab.plan.pareto import ParetoPoint
from cxlab.plan.quantity import Dimension, show, unit_name
from cxlab.plan.uncertainty import Bar, Grid, Spread

LOW, HIGH, INK, LOSS = "#2c7fb8", "#d95f0e", "#333333", "#b2182b"
BACKED = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
STYLE = {"axes.edgecolor": INK, "svg.fonttype": "none"}
PERCENT = FuncFormatter(lambda fraction, _: f"{100 * fraction:.4g} %")
MARKERS = "os^Dv<>pPX*"  # one for each design on a Pareto frontier
NARROWEST = 0.001  # half width of an axis over which nothing changes [fraction]
MOST_BARS = 12  # a tornado shows the widest; the CSV has all


@dataclass(frozen=True)
class Line:
    """A saving over one input, with its break-even."""

    x: Assumption
    x_values: Sequence[float]
    saving: Sequence[float]
    break_even: float | None


def save(folder: Path, stem: str, draw: Callable[[], Figure]) -> list[Path]:
    """Draw a figure and write it as PNG and SVG; return their paths."""
    paths = [folder / f"{stem}.{suffix}" for suffix in ("png", "svg")]
    save_each(paths, draw, STYLE)
    return paths


def _label(a: Assumption) -> str:
    """Name an input for an axis, with its unit."""
    unit = unit_name(a.dimension, a.currency)
    name = a.meaning if "." not in a.key else a.key
    return f"{name} [{unit}]" if unit and a.dimension is not Dimension.COUNT else name


def _ends(a: Assumption) -> tuple[str, str]:
    return show(a.value.low, a.dimension, a.currency), show(a.value.high, a.dimension, a.currency)


def tornado_figure(title: str, nominal: float, bars: Sequence[Bar], spread: Spread | None) -> Figure:
    """Draw the widest bars, the value of the input written at each end."""
    shown = list(reversed(bars[:MOST_BARS]))
    figure = Figure(figsize=(9.5, 1.9 + 0.42 * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    reach = max((max(abs(b.at_low - nominal), abs(b.at_high - nominal)) for b in shown), default=0.0)
    reach = max(reach, NARROWEST)
    for row, bar in enumerate(shown):
        ends = (bar.at_low, LOW, _ends(bar.assumption)[0]), (bar.at_high, HIGH, _ends(bar.assumption)[1])
        right_first = sorted(ends, key=lambda end: end[0])
        for (at, colour, text), side in zip(right_first, ("right", "left"), strict=True):
            axes.barh(row, at - nominal, left=nominal, color=colour, height=0.62)
            edge = min(at, nominal) if side == "right" else max(at, nominal)
            gap = -0.015 * reach if side == "right" else 0.015 * reach
            axes.text(edge + gap, row, text, ha=side, va="center", fontsize=8, color=INK, bbox=BACKED)
    axes.axvline(nominal, color=INK, linewidth=1)
    if nominal - 1.5 * reach < 0 < nominal + 1.5 * reach:
        axes.axvline(0, color=LOSS, linewidth=1, linestyle="--")
        axes.annotate(
            "break-even", (0, 1), xycoords=("data", "axes fraction"), xytext=(3, -2),
            textcoords="offset points", color=LOSS, fontsize=8, va="top",
        )  # fmt: skip
    axes.set_yticks(range(len(shown)), [_label(b.assumption) for b in shown])
    axes.set_xlim(nominal - 1.5 * reach, nominal + 1.5 * reach)
    axes.xaxis.set_major_formatter(PERCENT)
    axes.set_xlabel("TCO saving")
    axes.tick_params(axis="y", length=0)
    subtitle = f"bars: each input alone at either end of its interval; nominal saving {percent(nominal)}"
    if spread is not None:
        subtitle += (
            f"\nall inputs at once: {percent(spread.p5)} .. {percent(spread.p95)} (5th .. 95th percentile of "
            f"{spread.draws:,} draws), positive in {100 * spread.chance_positive:.0f} %"
        )
    figure.suptitle(f"{title}\n{subtitle}", fontsize=11, x=0.01, ha="left")
    for colour, text in ((LOW, "input low"), (HIGH, "input high")):
        axes.barh([0], [0], color=colour, label=text)
    figure.legend(loc="outside lower right", ncols=2, frameon=False, fontsize=9)
    return figure


def heat_map_figure(title: str, grid: Grid, label: str = "TCO saving") -> Figure:
    """Draw the saving over two inputs, with the break-even line and the nominal point."""
    figure = Figure(figsize=(8, 5.6), layout="constrained")
    axes = figure.add_subplot()
    reach = max(float(np.nanmax(np.abs(grid.outcome))), 0.01)
    norm = TwoSlopeNorm(0, -reach, reach)
    outcome = np.ma.masked_invalid(grid.outcome)
    mesh = axes.pcolormesh(grid.x_values, grid.y_values, outcome, cmap="RdBu", norm=norm, shading="gouraud")
    lowest, highest = float(outcome.min()), float(outcome.max())
    step = _step(highest - lowest)
    levels = [
        level for level in step * np.arange(np.ceil(lowest / step), highest / step) if abs(level) > 1e-9
    ]
    lines = axes.contour(grid.x_values, grid.y_values, outcome, levels=levels, colors=INK, linewidths=0.4)
    _name_lines(axes, lines, lambda level: f"{100 * level:.4g} %")
    if lowest < 0 < highest:
        zero = axes.contour(grid.x_values, grid.y_values, outcome, levels=[0.0], colors=INK, linewidths=1.8)
        _name_lines(axes, zero, lambda _: "break-even")
    axes.plot(
        grid.x.value.nominal, grid.y.value.nominal, "o", color="white", markeredgecolor=INK, markersize=8,
        label="nominal", linestyle="none", clip_on=False, zorder=5,
    )  # fmt: skip
    axes.set_xlabel(_label(grid.x))
    axes.set_ylabel(_label(grid.y))
    axes.set_title(title)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False, fontsize=9, borderaxespad=0.2)
    bar = figure.colorbar(mesh, ax=axes, label=label, format=PERCENT)
    bar.ax.set_ylim(lowest, highest)
    return figure


def _name_lines(axes: Axes, lines: QuadContourSet, name: Callable[[float], str]) -> None:
    try:
        axes.clabel(lines, fmt=name, fontsize=8)
    except IndexError:
        return  # matplotlib 3.11 fails so on a line squeezed into a point; it stays without a name


def _step(reach: float) -> float:
    """Return a round distance between contour lines, at most ten over `reach`."""
    return next((step for step in (0.01, 0.02, 0.05, 0.1, 0.2) if reach / step <= 10), reach / 8)


def break_even_figure(title: str, lines: Sequence[Line]) -> Figure:
    """Draw the saving over each input, with its interval and the point at which it is nil."""
    figure = Figure(figsize=(4.8 * len(lines), 4.2), layout="constrained")
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    axes_row = figure.subplots(1, len(lines), sharey=True, squeeze=False)[0]
    for index, (axes, line) in enumerate(zip(axes_row, lines, strict=True)):
        _break_even_panel(axes, line)
        if index == 0:
            axes.set_ylabel("TCO saving")
            axes.yaxis.set_major_formatter(PERCENT)
    return figure


def _break_even_panel(axes: Axes, line: Line) -> None:
    axes.axhline(0, color=LOSS, linewidth=1, linestyle="--")
    axes.plot(line.x_values, line.saving, color=LOW, linewidth=2)
    if not line.x.value.is_exact:
        axes.axvspan(line.x.value.low, line.x.value.high, color=LOW, alpha=0.12, linewidth=0)
    axes.axvline(line.x.value.nominal, color=INK, linewidth=0.8, linestyle=":")
    note = "no valid value breaks even"
    if line.break_even is not None:
        note = f"breaks even at {show(line.break_even, line.x.dimension, line.x.currency)}"
        if min(line.x_values) <= line.break_even <= max(line.x_values):
            axes.plot(line.break_even, 0, "o", color=LOSS, zorder=5)
    nominal = show(line.x.value.nominal, line.x.dimension, line.x.currency)
    axes.set_title(f"{note}\n(dotted: nominal, {nominal})", fontsize=10)
    axes.set_xlabel(_label(line.x))


def pareto_figure(title: str, points: Sequence[ParetoPoint], currency: str) -> Figure:
    """Draw cost against slow-down for both frontiers; a marker stands for a server design."""
    figure = Figure(figsize=(9.5, 5.4), layout="constrained")
    axes = figure.add_subplot()
    designs = sorted({(point.plan.design.dram, point.plan.design.cxl) for point in points})
    markers = {design: MARKERS[index % len(MARKERS)] for index, design in enumerate(designs)}
    families = (False, INK, "main memory only"), (True, HIGH, "CXL memory allowed")
    for with_cxl, colour, label in families:
        plans = [point.plan for point in points if point.with_cxl is with_cxl]
        x, y = [plan.mean_slowdown for plan in plans], [plan.tco for plan in plans]
        axes.plot(x, y, drawstyle="steps-post", color=colour, linewidth=1.5, label=label)
        for plan in plans:
            marker = markers[plan.design.dram, plan.design.cxl]
            axes.plot(plan.mean_slowdown, plan.tco, marker, color=colour, markersize=7)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:,.0f} k"))
    axes.set_xlabel("mean slow-down over instances, against all in main memory [x]")
    axes.set_ylabel(f"TCO of the fleet over its life [{currency}]")
    axes.set_title(f"{title}: cost against slow-down")
    axes.grid(alpha=0.25)
    lines, _ = axes.get_legend_handles_labels()
    header = Line2D([], [], linestyle="none", label="server: main memory + CXL memory")
    shapes = [
        Line2D([], [], ls="none", marker=markers[dram, cxl], color="#888888", label=f"{dram:g} + {cxl:g} GiB")
        for dram, cxl in designs
    ]
    axes.legend(
        handles=[*lines, header, *shapes],
        loc="upper left",
        bbox_to_anchor=(1.01, 1),
        frameon=False,
        fontsize=9,
    )
    return figure
