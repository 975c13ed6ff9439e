"""Reads throughput from results of `cxlab bench`, simulated or `--host`. The unit of work is a byte moved,
or a load.

    bandwidth, loaded-latency, mess    bytes read and written at full load, the highest of the points
    stream                             triad, bytes as STREAM counts them
    latency                            dependent loads, one after the other

Two results do the same work when their threads, mix, stores and pattern are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from cxlab import file_format
from cxlab.error import Code, InputError
from cxlab.plan.quantity import Range, number_within

#: Of whatever a benchmark counts: what 1 over it can be taken of.
THROUGHPUT = Range(1e-12, 1e18)
#: From a picosecond to a thousand seconds [ns]; from a byte a second to what no memory reaches [MB/s].
FIGURES = {"latency_ns": Range(1e-3, 1e12), "bandwidth_mb_s": Range(1e-6, 1e12)}
BYTES_UNIT = "MB/s"
LOADS_UNIT = "loads/s"
#: What makes two results comparable.
WORKLOAD = ("threads", "mix", "store", "pattern")
KINDS = "bandwidth, loaded-latency, mess, stream, latency"


@dataclass(frozen=True)
class BenchResult:
    """The speed of one placement, from a result."""

    #: as the bench calls it; a real node's number
    node: str
    throughput: float  # [unit]
    unit: str
    workload: str  # bench, threads, mix, stores, pattern


def is_bench(path: Path) -> bool:
    """Whether a JSON file is a result of a bench."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and "points" in document and not document.keys().isdisjoint(_KEYS)


_KEYS = ("bench", "benchmark")


class _Points(Struct, frozen=True):
    """The points of a result's file, not checked yet."""

    points: object

    def those_to_read(self) -> list[dict[str, Any]]:
        """Give the points that are objects."""
        listed = self.points if isinstance(self.points, list) else []
        return [point for point in listed if isinstance(point, dict)]


def read_bench(path: Path) -> BenchResult:
    """Read a result. Raises `InputError`."""
    document = json.loads(path.read_text(encoding="utf-8"))
    another = file_format.other(document, file_format.Format.BENCH)
    if another is not None:
        raise InputError(Code.UNREADABLE, str(path), another, "a result of this version")
    kind = str(document.get("bench", document.get("benchmark")))
    points = msgspec.convert(document, type=_Points).those_to_read()
    match kind:
        case "bandwidth" | "loaded-latency" | "mess":
            throughput, unit = max(_figures(path, points, "bandwidth_mb_s")), BYTES_UNIT
        case "stream":
            triad = [point for point in points if point.get("kernel") == "triad"]
            throughput, unit = max(_figures(path, triad, "bandwidth_mb_s")), BYTES_UNIT
        case "latency":
            throughput, unit = 1e9 / max(_figures(path, points, "latency_ns")), LOADS_UNIT
        case _:
            raise InputError(Code.UNREADABLE, str(path), f"is a result of `{kind}`", KINDS)
    settings = document.get("settings", {})
    if not isinstance(settings, dict):
        raise InputError(Code.UNREADABLE, f"{path}: settings", f"is {settings!r:.40}", "an object")
    settings = {**document, **settings}
    return BenchResult(str(document.get("node", "")), throughput, unit, _workload(kind, settings))


def _figures(path: Path, points: Iterable[Mapping[str, Any]], key: str) -> list[float]:
    valid = FIGURES[key]
    described = f"{valid.low:g} <= {key} <= {valid.high:g}"
    values = []
    for point in points:
        if key not in point:
            continue
        number = number_within(point[key], valid)
        if number is None:
            raise InputError(Code.NOT_A_QUANTITY, f"{path}: {key}", f"is {point[key]!r:.40}", described)
        values.append(number)
    if not values:
        raise InputError(Code.MISSING, f"{path}: {key}", "is in no point", described)
    return values


def _workload(kind: str, settings: Mapping[str, Any]) -> str:
    if kind == "latency":
        return kind
    told = (f"{key} {settings[key]}" for key in WORKLOAD if key in settings)
    return f"{kind}, {', '.join(told)}"
