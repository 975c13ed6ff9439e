"""Every statistic of a run (``--stats``), a line each: its part of the machine, value, unit, description.

::

    cxl.port0.device.read_requests            457  requests      M2S Req received
"""

from __future__ import annotations

from collections.abc import Iterator

from cxlab.border import Part, StatisticDistribution, StatisticValue
from cxlab.output import WIDE, wrapped

#: In front of a description that stands below its statistic.
BELOW = "    "


def lines(part: Part, width: int = WIDE, path: str = "") -> Iterator[str]:
    """A line for each statistic of a part and of its own parts; the machine itself is not named.

    A description that the width has no room for goes below.
    """
    for entry in part.statistics:
        name = f"{path}{entry.name}"
        figure = f"{name:<42} {_value(entry.value):>14}  {entry.unit:<13}"
        line = f"{figure} {entry.description}"
        below = f"{figure.rstrip()}\n{wrapped(entry.description, BELOW, width)}"
        yield line if len(line) <= width else below
    for inner in part.parts:
        yield from lines(inner, width, f"{path}{inner.name}.")


def _value(value: StatisticValue) -> str:
    match value:
        case None:
            return "-"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.4g}"
        case StatisticDistribution(count=0):
            return "none"
        case StatisticDistribution():
            quantiles = f"p50 {value.p50:.1f}, p99 {value.p99:.1f}"
            return f"{value.mean:.1f} ({quantiles}, {value.count:,} of them)"
