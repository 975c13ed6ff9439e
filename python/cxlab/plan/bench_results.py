"""Throughput from results of `cxlab bench`, simulated or `--host`: the work is a byte moved, or a load.

    bandwidth, loaded-latency, mess    bytes read and written at full load, the highest of the points
    stream                             triad, bytes as STREAM counts them
    latency                            dependent loads, one after the other

Two results do the same work when their threads, mix, stores and pattern are the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cxlab.plan.error import Code, PlanError

BYTES_UNIT = "MB/s"
LOADS_UNIT = "loads/s"
#: What makes two results comparable.
WORKLOAD = ("threads", "mix", "store", "pattern")
KINDS = "bandwidth, loaded-latency, mess, stream, latency"


@dataclass(frozen=True)
class BenchResult:
    """What a result says of the speed of one placement."""

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


def read_bench(path: Path) -> BenchResult:
    """Read a result. Raises `PlanError`."""
    document = json.loads(path.read_text(encoding="utf-8"))
    kind = str(document.get("bench", document.get("benchmark")))
    points = [point for point in document["points"] if isinstance(point, dict)]
    match kind:
        case "bandwidth" | "loaded-latency" | "mess":
            throughput, unit = max(_figures(path, points, "bandwidth_mb_s")), BYTES_UNIT
        case "stream":
            triad = [point for point in points if point.get("kernel") == "triad"]
            throughput, unit = max(_figures(path, triad, "bandwidth_mb_s")), BYTES_UNIT
        case "latency":
            throughput, unit = 1e9 / max(_figures(path, points, "latency_ns")), LOADS_UNIT
        case _:
            raise PlanError(Code.UNREADABLE, str(path), f"is a result of `{kind}`", KINDS)
    settings = {**document, **document.get("settings", {})}
    return BenchResult(str(document.get("node", "")), throughput, unit, _workload(kind, settings))


def _figures(path: Path, points: Iterable[Mapping[str, Any]], key: str) -> list[float]:
    values = [point[key] for point in points if isinstance(point.get(key), int | float)]
    if not values or not all(0 < value < math.inf for value in values):
        raise PlanError(Code.NOT_A_QUANTITY, f"{path}: {key}", f"is {values or 'not there'}", f"0 < {key}")
    return values


def _workload(kind: str, settings: Mapping[str, Any]) -> str:
    if kind == "latency":
        return kind
    told = (f"{key} {settings[key]}" for key in WORKLOAD if key in settings)
    return f"{kind}, {', '.join(told)}"
