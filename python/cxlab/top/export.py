"""Profiles for other tools: speedscope's own format, and collapsed stacks.

Sources: speedscope's file-format-schema.json; the one-line stacks of flamegraph.pl (Brendan Gregg), which
speedscope, inferno and Firefox Profiler (its src/profile-logic/import/flame-graph.js) read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cxlab.top.ranking import Waits

Stacks = Sequence[tuple[tuple[str, ...], Waits]]


#: Counts of all collapsed stacks, at most. Firefox Profiler makes a sample of each count.
MOST_COUNTS = 1_000_000


@dataclass(frozen=True)
class Collapsed:
    """Collapsed stacks: a line each, frames with semicolons between them, and a count."""

    text: str
    #: stall that one count stands for [ns]: a power of ten
    count_ns: int


def collapsed(stacks: Stacks) -> Collapsed:
    """Stacks with their stalls, in the finest count that keeps the sum of counts below `MOST_COUNTS`."""
    total_ns = sum(waits.stall_ps for _, waits in stacks) / 1000
    count_ns = 1
    while total_ns / count_ns > MOST_COUNTS:
        count_ns *= 10
    lines = []
    for frames, waits in stacks:
        if counts := round(waits.stall_ps / 1000 / count_ns):
            lines.append(f"{';'.join(frame.replace(';', ':') for frame in frames)} {counts}\n")
    return Collapsed("".join(lines), count_ns)


def speedscope(stacks: Stacks, name: str) -> dict[str, Any]:
    """Two profiles of the same stacks: stalls in nanoseconds, and lines."""
    frames: dict[str, int] = {}
    samples = [[frames.setdefault(frame, len(frames)) for frame in stack] for stack, _ in stacks]

    def profile(what: str, unit: str, weights: list[float]) -> dict[str, Any]:
        return {
            "type": "sampled",
            "name": f"{name}: {what}",
            "unit": unit,
            "startValue": 0,
            "endValue": sum(weights),
            "samples": samples,
            "weights": weights,
        }

    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "cxlab",
        "name": name,
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": [
            profile("stalls", "nanoseconds", [waits.stall_ps / 1000 for _, waits in stacks]),
            profile("lines", "none", [float(waits.lines) for _, waits in stacks]),
        ],
    }
