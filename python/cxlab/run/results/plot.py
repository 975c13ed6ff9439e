"""A run over simulated time: IPC, each memory's bandwidth and latency, from the columns of series.parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cxlab.figure import COLOURS, drawn
from cxlab.run.results import series as columns
from cxlab.run.results.series import Series

#: Width and height [inch].
SIZE = (7.2, 7.2)
#: Line styles of the nodes in turn: colour is not all that tells them apart.
STYLES = ("-", "--", ":", "-.")


def over_time(path: Path, title: str, series: Series, nodes: Sequence[str], frequency_ghz: float) -> None:
    """Draw three panels above one axis of time; ``frequency_ghz`` is the cores'."""
    ends = columns.ends_s(series)
    milliseconds = [time * 1e3 for time in ends]
    with drawn(path, SIZE) as figure:
        ipc, bandwidth, latency = figure.subplots(3, sharex=True)
        ipc.set_title(title)
        cycles = [busy * frequency_ghz for busy in columns.busy_ns(series)]
        ipc.plot(milliseconds, ratios(columns.instructions(series), cycles), color=COLOURS[4])
        ipc.set_ylabel("IPC")
        spans = lengths(ends)
        for number, node in enumerate(nodes):
            style = {"color": COLOURS[number % len(COLOURS)], "linestyle": STYLES[number % len(STYLES)]}
            moved = columns.moved_bytes(series, node)
            bandwidth.plot(milliseconds, [rate / 1e9 for rate in ratios(moved, spans)], label=node, **style)
            means = ratios(columns.load_ns(series, node), columns.loads(series, node))
            latency.plot(milliseconds, means, label=node, **style)
        bandwidth.set_ylabel("bandwidth [GB/s]")
        latency.set_ylabel("latency of loads\nfrom address to data [ns]")
        latency.set_xlabel("simulated time [ms]")
        for axes in (ipc, bandwidth, latency):
            axes.grid(alpha=0.3)
            axes.set_ylim(bottom=0)
        for axes in (bandwidth, latency):
            axes.legend(frameon=False, fontsize=8)


def lengths(times: Sequence[float]) -> list[float]:
    """Length of each interval that ends at these times [s]; the first begins at 0."""
    return [now - before for before, now in zip([0.0, *times], times, strict=False)]


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Each over each; no number, which is not drawn, where nothing was counted."""
    return [one / other if other > 0 else float("nan") for one, other in zip(above, below, strict=True)]
