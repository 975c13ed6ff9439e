"""Draws measured against simulated figures: latency over bandwidth, a panel a node. What is no curve is a
bar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cxlab.bench.result import counted
from cxlab.border import BenchPoint
from cxlab.calibrate.measured import Kind, Series
from cxlab.calibrate.observation import Observation, Role
from cxlab.calibrate.report import Outcome
from cxlab.figure import COLOURS, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Pair = tuple[Observation, BenchPoint]


def draw(path: Path, outcome: Outcome) -> None:
    """Draw ``path``; its ending is the figure's kind. It is written whole or not at all."""
    pairs = list(zip(outcome.observations, outcome.points, strict=True))
    curves = [pair for pair in pairs if pair[0].series.kind is Kind.LOADED_LATENCY]
    others = [pair for pair in pairs if pair[0].series.kind is not Kind.LOADED_LATENCY]
    nodes = list(dict.fromkeys(o.series.node for o, _ in curves))
    panels = len(nodes) + bool(others)
    with drawn(path, (5.6 * panels + 0.8, 4.8)) as figure:
        axes = figure.subplots(1, panels, squeeze=False)[0]
        for panel, node in zip(axes, nodes, strict=False):
            _curves(panel, node, [pair for pair in curves if pair[0].series.node == node])
        if others:
            _ratios(axes[-1], others)
        figure.suptitle(
            f"from {outcome.start}: o fitted, x held out or at full load, line simulated", fontsize=9
        )


def _curves(axes: Axes, node: str, pairs: Sequence[Pair]) -> None:
    series: list[Series] = []
    for observation, _ in pairs:
        if observation.series not in series:
            series.append(observation.series)
    for number, one in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        mine = [pair for pair in pairs if pair[0].series is one]
        line = sorted({(counted(p.bandwidth_mb_s) / 1e3, counted(p.latency_ns)) for _, p in mine})
        axes.plot(*zip(*line, strict=True), color=colour, linewidth=1.3, label=one.label)
        for role, marker in ((Role.FIT, "o"), (Role.HELD_OUT, "x"), (Role.FULL_LOAD, "x")):
            points = [(o.bandwidth / 1e3, o.value) for o, _ in mine if o.role is role and o.bandwidth]
            if points:
                axes.plot(*zip(*points, strict=True), marker, color=colour, markersize=4.5, linestyle="none")
    axes.set_title(node)
    axes.set_xlabel("bandwidth, reads and writes [GB/s]")
    axes.set_ylabel("latency of a load [ns]")
    axes.set_xlim(left=0)
    axes.set_yscale("log")
    axes.grid(alpha=0.3, which="both")
    axes.legend(frameon=False, fontsize=7)


def _ratios(axes: Axes, pairs: Sequence[Pair]) -> None:
    labels = [f"{o.series.label} {o.quantity.name.lower()}" for o, _ in pairs]
    errors = [100 * (o.simulated(p) / o.value - 1) for o, p in pairs]
    axes.barh(range(len(pairs)), errors, color=COLOURS[0])
    axes.set_yticks(range(len(pairs)), labels=labels, fontsize=7)
    axes.set_xlabel("simulated against measured [%]")
    axes.axvline(0, color="black", linewidth=0.8)
