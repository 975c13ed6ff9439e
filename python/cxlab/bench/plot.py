"""Latency over bandwidth: one curve a result, silicon beside it where there is some."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import style
from matplotlib.figure import Figure

from cxlab.bench.request import BenchError
from cxlab.bench.result import Result

STYLE: dict[str, object] = {
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "cxlab",
}
COLOURS = ("#2c7fb8", "#d95f0e", "#31a354", "#756bb1", "#636363", "#c51b8a", "#8c6d31", "#17becf")


@dataclass(frozen=True)
class Curve:
    """A line of the figure: (bandwidth [MB/s], latency [ns])."""

    label: str
    points: Sequence[tuple[float, float]]
    silicon: bool = False


def of(result: Result, label: str) -> Curve:
    """The curve of a result, from idle to the peak."""
    points = [(p["bandwidth_mb_s"], p["latency_ns"]) for p in result.points if p["latency_ns"] is not None]
    return Curve(label, points)


def of_document(document: Mapping[str, Any]) -> list[Curve]:
    """The curves of a result as ``--json`` has it, one a mix; with provenance it is of a real machine."""
    by_mix: dict[str, list[tuple[float, float]]] = {}
    for point in document["points"]:
        if point.get("latency_ns") is not None and point.get("bandwidth_mb_s") is not None:
            mix = str(point.get("mix", document.get("mix", "1:0")))
            by_mix.setdefault(mix, []).append((point["bandwidth_mb_s"], point["latency_ns"]))
    where = f"{document['machine']}, {document['node']}"
    return [Curve(f"{where}, {mix}", points, "provenance" in document) for mix, points in by_mix.items()]


def read(file: Path) -> list[Curve]:
    """The curves of a result's file.

    Raises:
        BenchError: it is none, or has no latency over bandwidth.

    """
    try:
        found = of_document(json.loads(file.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchError(
            f"{file}: {error!r}; valid: JSON of loaded-latency or mess, simulated or --host"
        ) from None
    if not found:
        raise BenchError(
            f"{file} has no point with latency and bandwidth; valid: JSON of loaded-latency or mess"
        )
    return found


def curves(path: Path, title: str, lines: Sequence[Curve]) -> None:
    """Draw latency over bandwidth; curves of one label share a colour, silicon is dashed.

    The figure's kind is the path's ending; it is written whole or not at all.
    """
    with style.context(STYLE):
        figure = Figure(figsize=(7.2 if len(lines) <= 4 else 9.6, 4.5), layout="constrained")
        axes = figure.add_subplot()
        labels = list(dict.fromkeys(line.label for line in lines))
        for line in lines:
            axes.plot(
                [bandwidth / 1e3 for bandwidth, _ in line.points],
                [latency for _, latency in line.points],
                color=COLOURS[labels.index(line.label) % len(COLOURS)],
                linestyle="--" if line.silicon else "-",
                marker="x" if line.silicon else "o",
                markersize=4,
                linewidth=1.3,
                label=f"{line.label}{', silicon' if line.silicon else ''}",
            )
        axes.set_xlabel("bandwidth, reads and writes [GB/s]")
        axes.set_ylabel("latency of a load [ns]")
        axes.set_title(title)
        axes.set_xlim(left=0)
        lowest = min(latency for line in lines for _, latency in line.points)
        highest = max(latency for line in lines for _, latency in line.points)
        if highest > 4 * lowest:
            axes.set_yscale("log")
            ticks = [
                t
                for t in (50, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10000)
                if lowest / 1.3 < t < highest * 1.3
            ]
            axes.set_yticks(ticks, labels=[f"{tick:,}" for tick in ticks])
            axes.minorticks_off()
        else:
            axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        if len(lines) > 4:
            figure.legend(
                *axes.get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize=8
            )
        else:
            axes.legend(frameon=False, fontsize=9)
        unfinished = path.with_name(f".{path.name}.unfinished")
        figure.savefig(unfinished, dpi=150, format=path.suffix.lstrip(".") or "png")
        os.replace(unfinished, path)
