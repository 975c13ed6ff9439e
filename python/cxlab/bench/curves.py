"""Silicon's loaded-latency curves, and the same sweeps simulated.

Curves are CSV files with the columns that validation/README.md names. Latency is compared at equal
bandwidth, never at equal delay: the simulated curve is interpolated. Up to the knee means up to 85 % of the
curve's own peak. Beyond it latency rises at a flat bandwidth, and only the latency at full load is
compared.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cxlab.bench.request import Mix, Placement, Workload
from cxlab.border import BenchJob, Pattern, Store
from cxlab.error import Code, InputError

KNEE = 0.85
#: MLC's delays, closer together about the knee: between two points the simulated curve is a line.
FINE_DELAYS = (
    *(0, 50, 100, 150, 200, 225, 250, 275, 300, 320, 340, 360, 380, 400, 425, 450, 500, 550, 600, 700, 800),
    *(1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000),
)
#: Below so many threads a thread's own concurrency binds.
MANY_THREADS = 8
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
#: What can have been measured: from a byte a second to what no memory reaches [MB/s], from less than a
#: cycle to a second [ns].
FIGURES = {"bandwidth_MBps": (1e-6, 1e9), "latency_ns": (0.01, 1e9)}
STORES: dict[str, Store] = {
    "none": "ordinary",
    "temporal": "ordinary",
    "ordinary": "ordinary",
    "nontemporal": "nontemporal",
}
PATTERNS: dict[str, Pattern] = {"sequential": "sequential", "random": "random"}
#: What a curve's path is called, by a part of its name; the first that fits.
NODES = (
    ("CXL-local", "cxl"),
    ("CXL-remote", "cxl-remote"),
    ("lat=DDR-local", "dram"),
    ("DDR-local", "dram"),
    ("DDR-remote", "remote"),
)
MACHINE = "spr-a1000"
#: The five points that informed how long a core's buffers are held (DEVIATIONS, MOD-16).
_CONCURRENCY = {"peak", "at the peak"}
#: What of which curve is fitted, or informed a mechanism: node, threads, mix, store, pattern -> what.
CALIBRATING = {
    ("dram", 1, "1:0", "ordinary", "sequential"): _CONCURRENCY,
    ("dram", 1, "1:0", "ordinary", "random"): _CONCURRENCY,
    ("cxl", 4, "1:0", "ordinary", "sequential"): _CONCURRENCY,
    ("cxl", 4, "1:0", "ordinary", "random"): _CONCURRENCY,
    ("cxl", 4, "0:1", "nontemporal", "sequential"): _CONCURRENCY,
    ("dram", 16, "1:0", "ordinary", "sequential"): {"idle", "peak"},
    ("cxl", 16, "1:0", "ordinary", "sequential"): {"peak"},
    ("cxl", 16, "2:1", "ordinary", "sequential"): {"peak"},
    ("cxl", 1, "1:0", "ordinary", "sequential"): {"idle"},
    ("cxl-remote", 16, "1:0", "ordinary", "sequential"): {"idle", "peak"},
}
#: What a curve is compared by.
MEASURES = ("peak", "idle", "to the knee", "at the peak")

Point = tuple[float, float]


@dataclass(frozen=True)
class Curve:
    """A loaded-latency curve of silicon."""

    name: str
    node: str
    threads: int
    mix: Mix
    store: Store
    pattern: Pattern
    #: (bandwidth [MB/s], latency [ns]) in the order of the file, full load first
    points: tuple[Point, ...]

    @property
    def label(self) -> str:
        """Name of the curve in tables."""
        store = "" if self.mix.writes == 0 else f" {self.store}"
        return f"{self.node}, {self.threads} thr, {self.mix}{store}, {self.pattern}"

    @property
    def fitted(self) -> set[str]:
        """Return the figures of the curve that the machine was fitted to."""
        return CALIBRATING.get((self.node, self.threads, str(self.mix), self.store, self.pattern), set())

    @property
    def role(self) -> str:
        """Whether its peak is one that calibrates."""
        return "calibration" if "peak" in self.fitted else "validation"

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes that it is counted in."""
        threads = "8 threads and more" if self.threads >= MANY_THREADS else "1 to 4 threads"
        node = {"dram": "local DDR", "cxl": "CXL", "remote": "DDR of the far socket"}
        if self.mix.writes == 0:
            mix = "reads"
        elif self.store == "ordinary":
            mix = "mixes, ordinary stores"
        else:
            mix = "non-temporal writes only" if self.mix.reads == 0 else "mixes, non-temporal stores"
        where = node.get(self.node, "CXL of the far socket")
        return ("all", f"{self.pattern}, {threads}", where, mix)

    @property
    def peak(self) -> float:
        """Highest bandwidth [MB/s]."""
        return max(bandwidth for bandwidth, _ in self.points)

    def workload(self) -> Workload:
        """Return the workload to simulate."""
        placement = Placement(((self.node, 1),))
        return Workload(MACHINE, placement, self.threads, self.mix, self.store, self.pattern)

    def jobs(self) -> list[BenchJob]:
        """Jobs of a sweep over the delays."""
        return [self.workload().job(delay) for delay in FINE_DELAYS]


def read_curves(folder: Path) -> tuple[list[Curve], list[str]]:
    """All curves of the CSV files of a folder, and what cannot be answered, with the reason.

    Raises:
        InputError: the folder has no such file.

    """
    curves: list[Curve] = []
    refused: list[str] = []
    for file in sorted(folder.rglob("*.csv")):
        groups = _groups(file)
        for key, points in groups.items():
            try:
                curves.append(_curve(key, points))
            except InputError as error:
                refused.append(f"{', '.join(key)}: {error.found}; valid: {error.valid}")
    if not curves and not refused:
        found = "the folder has no file of curves"
        raise InputError(Code.CURVES, str(folder), found, f"CSV files with the columns {', '.join(COLUMNS)}")
    return curves, refused


def _groups(file: Path) -> dict[tuple[str, ...], list[Point]]:
    """The points of each curve of a file; none if it has other columns. Raises `InputError`."""
    groups: dict[tuple[str, ...], list[Point]] = {}
    try:
        with file.open(newline="", encoding="utf-8") as text:
            reader = csv.DictReader(text)
            if not set(COLUMNS) <= set(reader.fieldnames or ()):
                return groups
            for row in reader:
                place = f"{file}, line {reader.line_num}"
                key = tuple(row[column] or "" for column in COLUMNS[:5])
                point = (_figure(place, row, "bandwidth_MBps"), _figure(place, row, "latency_ns"))
                groups.setdefault(key, []).append(point)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(Code.CURVES, str(file), str(error), "a CSV file in UTF-8") from None
    return groups


def _figure(place: str, row: Mapping[str, str | None], column: str) -> float:
    least, most = FIGURES[column]
    try:
        figure = float(row[column] or "")
    except ValueError:
        figure = math.nan
    if not least <= figure <= most:
        valid = f"{least:g} to {most:g}"
        raise InputError(Code.CURVES, f"{place}: {column}", f"is {row[column]!r:.40}", valid)
    return figure


def _curve(key: tuple[str, ...], points: Iterable[Point]) -> Curve:
    path, threads, mix, store, pattern = key
    node = next((node for part, node in NODES if part in path), None)
    kind = STORES.get(store.lower().replace("-", ""))
    if node is None:
        known = ", ".join(part for part, _ in NODES)
        raise InputError(Code.CURVES, "path", f"no node of {MACHINE} stands for `{path}`", known)
    if kind is None:
        raise InputError(Code.CURVES, "store_type", f"unknown stores `{store}`", ", ".join(STORES))
    parsed = Mix.parse(mix)
    if kind == "ordinary" and parsed.writes > parsed.reads:
        found = f"{parsed}: ordinary stores cannot write more than half of the lines"
        raise InputError(Code.CURVES, "rw_mix", found, "a mix with as many lines read as written, or more")
    if not threads.isascii() or not threads.isdecimal() or not 1 <= len(threads) <= 4 or int(threads) == 0:
        raise InputError(Code.CURVES, "threads", f"`{threads:.40}`", "a whole number from 1 to 9999")
    if pattern not in PATTERNS:
        raise InputError(Code.CURVES, "pattern", f"unknown pattern `{pattern}`", ", ".join(PATTERNS))
    return Curve(path, node, int(threads), parsed, kind, PATTERNS[pattern], tuple(points))


@dataclass(frozen=True)
class Comparison:
    """A curve and its simulation."""

    curve: Curve
    simulated: list[Point]

    @property
    def peak(self) -> float:
        """Highest simulated bandwidth [MB/s]."""
        return max(bandwidth for bandwidth, _ in self.simulated)

    @property
    def peak_error(self) -> float:
        """Relative error of the simulated peak."""
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

    def idle(self) -> tuple[float, float]:
        """Latency at silicon's lowest bandwidth [ns]: silicon, simulated."""
        bandwidth, latency = min(self.curve.points)
        return latency, self.at(bandwidth) or self.simulated[-1][1]

    def errors(self, measure: str) -> list[float]:
        """Relative errors by one of MEASURES; none of what was fitted."""
        if measure in self.curve.fitted:
            return []
        if measure == "peak":
            return [self.peak_error]
        if measure == "to the knee":
            return self.below_knee()
        silicon, simulated = self.idle() if measure == "idle" else self.full_load()
        return [simulated / silicon - 1]

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
