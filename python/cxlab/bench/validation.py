"""Silicon beside the simulation: figures of papers, and loaded-latency curves of a folder.

The figures are validation/points.toml; curves are CSV files with the columns that validation/README.md names.
Latency is compared at equal bandwidth, never at equal delay: the simulated curve is interpolated. Up to the
knee means up to 85 % of the curve's own peak; beyond it latency rises at a flat bandwidth, and only the
latency at full load is compared.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from cxlab.bench.request import BenchError, Mix, Placement, Workload

KNEE = 0.85
#: MLC's delays, closer together about the knee: between two points the simulated curve is a line.
FINE_DELAYS = (
    *(0, 50, 100, 150, 200, 225, 250, 275, 300, 320, 340, 360, 380, 400, 425, 450, 500, 550, 600, 700, 800),
    *(1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000),
)
#: Predictions are scored from so many threads up, sequential; the others are bound by a thread.
SCORED_THREADS = 8
COLUMNS = (
    "path",
    "threads",
    "rw_mix",
    "store_type",
    "pattern",
    "inject_delay",
    "latency_ns",
    "bandwidth_MBps",
)
STORES = {"none": "ordinary", "temporal": "ordinary", "ordinary": "ordinary", "nontemporal": "nontemporal"}
#: What a curve's path is called, by a part of its name; the first that fits.
NODES = (
    ("CXL-local", "cxl"),
    ("CXL-remote", "cxl-remote"),
    ("lat=DDR-local", "dram"),
    ("DDR-local", "dram"),
    ("DDR-remote", "remote"),
)
MACHINE = "spr-a1000"
#: (node, threads, mix, store, pattern) of the curves whose peak or idle point calibrates
CALIBRATING = {
    ("dram", 16, "1:0"),
    ("cxl", 16, "1:0"),
    ("cxl", 16, "2:1"),
    ("cxl", 1, "1:0"),
    ("cxl-remote", 16, "1:0"),
}

Point = tuple[float, float]


@dataclass(frozen=True)
class Figure:
    """A row of validation/points.toml."""

    id: str
    what: str
    source: str
    role: str
    low: float
    high: float
    unit: str
    settings: Mapping[str, Any]

    def jobs(self) -> list[dict[str, Any]]:
        """One job, or two: the second on the node that the first is compared with."""
        nodes = [self.settings["node"], *([self.settings["over"]] if "over" in self.settings else [])]
        return [self._job(node) for node in nodes]

    def _job(self, node: str) -> dict[str, Any]:
        have = self.settings
        memo = have.get("memo")
        workload = Workload(
            have["machine"],
            Placement(((node, 1),)),
            0 if memo else have.get("threads", 16),
            Mix.parse(have.get("mix", "1:0")),
            have.get("store", "ordinary"),
        )
        if memo:
            return workload.job_of({"memo": {"instruction": memo}})
        if "size" in have:
            return workload.job_of({"walk": {"size": have["size"]}})
        if "stream" in have:
            return workload.job_of({"stream": {"kernel": have["stream"]}})
        return workload.job(have.get("delay", 0))

    def simulated(self, points: Sequence[Mapping[str, Any]]) -> float:
        """The figure from its points."""
        values = [self._value(point) for point in points]
        if len(values) == 1:
            return values[0]
        return values[0] / values[1] if self.settings["how"] == "ratio" else values[0] - values[1]

    def _value(self, point: Mapping[str, Any]) -> float:
        match self.settings["metric"]:
            case "latency":
                return float(point["latency_ns"])
            case "bandwidth":
                return float(point["bandwidth_mb_s"]) / 1e3
            case _:
                return float(point["bandwidth_mb_s"]) / 10 / float(self.settings["peak_gb_s"])

    def error(self, simulated: float) -> float:
        """Relative; 0 inside the range."""
        nearest = min(max(simulated, self.low), self.high)
        return simulated / nearest - 1


def figures(file: Path) -> list[Figure]:
    """The shipped figures."""
    rows = tomllib.loads(file.read_text())["points"]
    return [_figure(row) for row in rows]


def _figure(row: dict[str, Any]) -> Figure:
    units = {"latency": "ns", "bandwidth": "GB/s", "efficiency": "%"}
    how = row.get("how")
    unit = "x" if how == "ratio" else "points" if how == "difference" else units[row["metric"]]
    low, high = (float(row[key if key in row else "value"]) for key in ("low", "high"))
    named = {key: row[key] for key in ("id", "what", "source", "role")}
    return Figure(**named, low=low, high=high, unit=unit, settings=row)


@dataclass(frozen=True)
class Curve:
    """A loaded-latency curve of silicon."""

    name: str
    node: str
    threads: int
    mix: Mix
    store: str
    pattern: str
    #: (bandwidth [MB/s], latency [ns]) in the order of the file, full load first
    points: tuple[Point, ...]

    @property
    def label(self) -> str:
        """For tables."""
        store = "" if self.mix.writes == 0 else f" {self.store}"
        return f"{self.node}, {self.threads} thr, {self.mix}{store}, {self.pattern}"

    @property
    def role(self) -> str:
        """Whether its peak is one that calibrates."""
        key = (self.node, self.threads, str(self.mix))
        plain = self.store == "ordinary" and self.pattern == "sequential"
        return "calibration" if plain and key in CALIBRATING else "validation"

    @property
    def scored(self) -> bool:
        """Not bound by a thread."""
        return self.threads >= SCORED_THREADS and self.pattern == "sequential"

    @property
    def peak(self) -> float:
        """Highest bandwidth [MB/s]."""
        return max(bandwidth for bandwidth, _ in self.points)

    def workload(self) -> Workload:
        """What to simulate."""
        placement = Placement(((self.node, 1),))
        return Workload(MACHINE, placement, self.threads, self.mix, self.store, self.pattern)

    def jobs(self) -> list[dict[str, Any]]:
        """A sweep."""
        return [self.workload().job(delay) for delay in FINE_DELAYS]


def read_curves(folder: Path) -> tuple[list[Curve], list[str]]:
    """All curves of the CSV files of a folder, and what cannot be answered, with the reason.

    Raises:
        BenchError: the folder has no such file.

    """
    curves: list[Curve] = []
    refused: list[str] = []
    for file in sorted(folder.rglob("*.csv")):
        with file.open(newline="") as text:
            reader = csv.DictReader(text)
            if not set(COLUMNS) <= set(reader.fieldnames or ()):
                continue
            groups: dict[tuple[str, ...], list[Point]] = {}
            for row in reader:
                key = tuple(row[column] for column in COLUMNS[:5])
                groups.setdefault(key, []).append((float(row["bandwidth_MBps"]), float(row["latency_ns"])))
        for key, points in groups.items():
            try:
                curves.append(_curve(key, points))
            except BenchError as error:
                refused.append(f"{', '.join(key)}: {error}")
    if not curves and not refused:
        raise BenchError(f"{folder} has no CSV file with the columns {', '.join(COLUMNS)}")
    return curves, refused


def _curve(key: tuple[str, ...], points: Iterable[Point]) -> Curve:
    path, threads, mix, store, pattern = key
    node = next((node for part, node in NODES if part in path), None)
    kind = STORES.get(store.lower().replace("-", ""))
    if node is None:
        raise BenchError(f"no node of {MACHINE} stands for this path")
    if kind is None:
        raise BenchError(f"unknown stores `{store}`; known: {', '.join(STORES)}")
    parsed = Mix.parse(mix)
    if kind == "ordinary" and parsed.writes > parsed.reads:
        raise BenchError("ordinary stores cannot write more than half of the lines")
    if pattern not in ("sequential", "random"):
        raise BenchError(f"unknown pattern `{pattern}`; known: sequential, random")
    return Curve(path, node, int(threads), parsed, kind, pattern, tuple(points))


@dataclass(frozen=True)
class Comparison:
    """A curve and its simulation."""

    curve: Curve
    simulated: list[Point]

    @property
    def peak(self) -> float:
        """Simulated [MB/s]."""
        return max(bandwidth for bandwidth, _ in self.simulated)

    @property
    def peak_error(self) -> float:
        """Relative."""
        return self.peak / self.curve.peak - 1

    def below_knee(self) -> list[float]:
        """Relative errors of latency at equal bandwidth, for silicon's points up to the knee."""
        errors = []
        for bandwidth, latency in self.curve.points:
            if bandwidth <= KNEE * self.curve.peak:
                simulated = self.at(bandwidth)
                if simulated is not None:
                    errors.append(simulated / latency - 1)
        return errors

    def full_load(self) -> tuple[float, float]:
        """Latency without a delay [ns]: silicon, simulated."""
        return self.curve.points[0][1], self.simulated[0][1]

    def at(self, bandwidth: float) -> float | None:
        """Simulated latency at a bandwidth, interpolated; `None` beyond the simulated peak."""
        ordered = sorted(self.simulated)
        if bandwidth <= ordered[0][0]:
            return ordered[0][1]
        for (left, low), (right, high) in pairwise(ordered):
            if left <= bandwidth <= right:
                return low + (high - low) * (bandwidth - left) / (right - left)
        return None
