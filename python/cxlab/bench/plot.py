"""Latency over bandwidth: one curve a result, silicon beside it where there is some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from cxlab.bench.result import Result, counted
from cxlab.error import Code, InputError
from cxlab.figure import COLOURS, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What can be drawn beside a result.
VALID = "JSON of loaded-latency or mess, simulated or --host"


@dataclass(frozen=True)
class Curve:
    """A line of the figure: (bandwidth [MB/s], latency [ns])."""

    label: str
    points: Sequence[tuple[float, float]]
    silicon: bool = False


class DrawnPoint(Struct, frozen=True):
    """The fields of a point that a plot needs, as a result's file has them."""

    latency_ns: float | None = None
    bandwidth_mb_s: float | None = None
    mix: str | None = None


class DrawnResult(Struct, frozen=True):
    """The fields of a result that a plot needs, as ``--json`` has them.

    A simulated machine's result has no ``provenance``.
    """

    machine: str
    node: str
    points: list[DrawnPoint]
    mix: str | list[str] = "1:0"
    provenance: dict[str, Any] | None = None

    def curves(self) -> list[Curve]:
        """One curve a mix."""
        by_mix: dict[str, list[tuple[float, float]]] = {}
        for point in self.points:
            if point.latency_ns is not None and point.bandwidth_mb_s is not None:
                mix = str(self.mix if point.mix is None else point.mix)
                by_mix.setdefault(mix, []).append((point.bandwidth_mb_s, point.latency_ns))
        where = f"{self.machine}, {self.node}"
        silicon = self.provenance is not None
        return [Curve(f"{where}, {mix}", points, silicon) for mix, points in by_mix.items()]


def of(result: Result, label: str) -> Curve:
    """The curve of a result, from idle to the peak."""
    figures = [(point.bandwidth_mb_s, point.latency_ns) for point in result.points]
    return Curve(label, [(b, latency) for b, latency in figures if b is not None and latency is not None])


def of_document(document: Mapping[str, Any]) -> list[Curve]:
    """The curves of a result as ``--json`` has it."""
    return msgspec.convert(document, type=DrawnResult).curves()


def read(file: Path) -> list[Curve]:
    """The curves of a result's file.

    Raises:
        InputError: it is none, or has no latency over bandwidth.

    """
    try:
        found = msgspec.json.decode(file.read_bytes(), type=DrawnResult).curves()
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(Code.CURVES, str(file), str(error), VALID) from None
    if not found:
        raise InputError(Code.CURVES, str(file), "no point has latency and bandwidth", VALID)
    return found


def curves(path: Path, title: str, lines: Sequence[Curve]) -> None:
    """Draw latency over bandwidth; curves of one label share a colour, silicon is dashed.

    The figure's kind is the path's ending; it is written whole or not at all.
    """
    with drawn(path, (7.2 if len(lines) <= 4 else 9.6, 4.5)) as figure:
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
        _scale(axes, [latency for line in lines for _, latency in line.points])
        axes.grid(alpha=0.3)
        if len(lines) > 4:
            figure.legend(
                *axes.get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize=8
            )
        else:
            axes.legend(frameon=False, fontsize=9)


def cliff(path: Path, title: str, result: Result) -> None:
    """Draw bandwidth over the ratio of the buffers to the device's cache, both logarithmic."""
    pairs = zip(result.values, result.points, strict=True)
    points = sorted((ratio, counted(point.bandwidth_mb_s) / 1e3) for ratio, point in pairs)
    with drawn(path, (7.2, 4.5)) as figure:
        axes = figure.add_subplot()
        ratios = [ratio for ratio, _ in points]
        axes.plot(ratios, [bandwidth for _, bandwidth in points], color=COLOURS[0], marker="o", markersize=4)
        axes.axvline(1, color="0.6", linestyle=":")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(ratios, labels=[f"{ratio:g}" for ratio in ratios])
        axes.minorticks_off()
        axes.set_xlabel("bytes of all buffers over bytes of the device's cache")
        axes.set_ylabel("bandwidth, reads and writes [GB/s]")
        axes.set_title(title)
        axes.grid(alpha=0.3)


#: Latencies that a logarithmic axis names [ns].
TICKS = (50, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10000)


def _scale(axes: Axes, latencies: Sequence[float]) -> None:
    """A logarithmic axis where latencies differ by more than a factor of four."""
    lowest, highest = min(latencies), max(latencies)
    if highest <= 4 * lowest:
        axes.set_ylim(bottom=0)
        return
    axes.set_yscale("log")
    ticks = [tick for tick in TICKS if lowest / 1.3 < tick < highest * 1.3]
    axes.set_yticks(ticks, labels=[f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
