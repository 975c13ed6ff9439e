"""Measured files, read into series: one workload and its points.

    CSV                  columns as validation/README.md names them; `path` is a node,
                         or what the EuroSys'24 artifact calls one
    JSON                 of `cxlab bench` and of cxlab-memo
    text                 Intel MLC's, multichase's: cxlab-memo reads it

What a file does not say (MLC its node and threads, memo which simulated node its own stands for) comes from
the caller.
"""

from __future__ import annotations

import csv
import enum
import io
import json
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from cxlab.bench.curves import COLUMNS, FIGURES, NODES, PATTERNS, STORES
from cxlab.bench.request import Mix, Placement, Workload
from cxlab.border import Instruction, Pattern, Store, StreamKernel
from cxlab.error import Code, InputError
from cxlab.run.guest import artefacts

#: What an instruction alone moves: an ordinary store reads its line too.
INSTRUCTIONS: dict[str, tuple[str, Store]] = {
    "ld": ("1:0", "ordinary"),
    "nt-ld": ("1:0", "ordinary"),
    "st": ("1:1", "ordinary"),
    "nt-st": ("0:1", "nontemporal"),
}


class Kind(enum.Enum):
    """The kind of a measurement."""

    LATENCY = "latency"
    LOADED_LATENCY = "loaded-latency"
    BANDWIDTH = "bandwidth"
    STREAM = "stream"
    MEMO = "memo"


@dataclass(frozen=True)
class MeasuredPoint:
    """A point; what it lacks is `None`."""

    #: [ns]
    latency: float | None
    #: reads and writes together [MB/s]
    bandwidth: float | None
    #: inject delay, of the tool that measured: only 0 means the same everywhere
    delay: int | None = None
    #: kernel of STREAM, instruction of memo
    what: str | None = None

    @property
    def kernel(self) -> StreamKernel:
        """The kernel of STREAM."""
        kernel: StreamKernel = msgspec.convert(self.what, type=StreamKernel)
        return kernel

    @property
    def instruction(self) -> Instruction:
        """The instruction of memo."""
        instruction: Instruction = msgspec.convert(self.what, type=Instruction)
        return instruction


@dataclass(frozen=True)
class Series:
    """A workload and its points. The workload's machine is left open."""

    kind: Kind
    workload: Workload
    points: tuple[MeasuredPoint, ...]

    @property
    def node(self) -> str:
        """Node of all the memory; the first node of an interleave."""
        return self.workload.placement.shares[0][0]

    @property
    def label(self) -> str:
        """Name of the point in tables."""
        load = self.workload
        if self.kind is not Kind.LOADED_LATENCY:
            return f"{load.placement}, {self.kind.value}"
        store = "" if load.mix.writes == 0 else f" {load.store}"
        return f"{load.placement}, {load.threads} thr, {load.mix}{store}, {load.pattern}"


@dataclass(frozen=True)
class Told:
    """Settings that the caller gives if a file does not."""

    node: str | None
    threads: int | None


def read(files: Sequence[Path], told: Told, nodes: Collection[str]) -> list[Series]:
    """All series of the files.

    Raises:
        InputError: a file cannot be read, or names a node that is none of ``nodes``.

    """
    found = [series for file in files for series in _read(file, told, nodes)]
    for series in found:
        for node, _ in series.workload.placement.shares:
            if node not in nodes:
                raise InputError(Code.MEASURED_FILE, "node", f"`{node}` is measured", ", ".join(nodes))
    return found


def _read(file: Path, told: Told, nodes: Collection[str]) -> list[Series]:
    try:
        text = file.read_text(errors="replace")
    except OSError as error:
        raise InputError(Code.MEASURED_FILE, str(file), str(error.strerror), "a file to read") from None
    try:
        if text.lstrip().startswith("{"):
            return _of_json(json.loads(text), told)
        if set(COLUMNS) <= set(text.splitlines()[0].split(",") if text else ()):
            return _of_csv(text, nodes)
        return _of_json(_imported(file), told)
    except InputError as error:
        if error.code is not Code.BENCH:
            raise
        raise InputError(Code.MEASURED_FILE, str(file), str(error), "a bench that can be simulated") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        found = f"has no {error}" if isinstance(error, KeyError) else str(error)
        valid = (
            f"JSON of `cxlab bench` or cxlab-memo, MLC's text, or CSV with the columns {', '.join(COLUMNS)}"
        )
        raise InputError(Code.MEASURED_FILE, str(file), found, valid) from None


def _of_csv(text: str, nodes: Collection[str]) -> list[Series]:
    groups: dict[tuple[str, ...], list[MeasuredPoint]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        delay = int(row[COLUMNS[5]])
        latency, bandwidth = (_figure(column, float(row[column])) for column in COLUMNS[6:8])
        groups.setdefault(tuple(row[c] for c in COLUMNS[:5]), []).append(
            MeasuredPoint(latency, bandwidth, delay)
        )
    series = []
    for (path, threads, mix, store, pattern), points in groups.items():
        known = next((node for part, node in NODES if part in path), path)
        placement = Placement(((path if path in nodes else known, 1),))
        kind = STORES.get(store.lower().replace("-", ""))
        if kind is None:
            raise ValueError(f"unknown stores `{store}`; known: {', '.join(STORES)}")
        workload = Workload("", placement, int(threads), Mix.parse(mix), kind, _pattern(pattern))
        series.append(Series(Kind.LOADED_LATENCY, workload, tuple(points)))
    return series


def _figure(column: str, figure: float) -> float:
    """Check that a figure can have been measured. Raises `ValueError` if not, as for NaN."""
    least, most = FIGURES[column]
    if not least <= figure <= most:
        raise ValueError(f"{column} is {figure!r:.40}, which is not from {least:g} to {most:g}")
    return float(figure)


class Load(Struct, frozen=True):
    """How the memory was loaded, as a file says it for all points or for one."""

    #: several are no number: the caller has to say which
    threads: int | list[int] | None = None
    mix: str | list[str] | None = None
    pattern: str | None = None
    store: str | None = None


class FilePoint(Load, frozen=True):
    """A point of a result's file."""

    latency_ns: float | None = None
    bandwidth_mb_s: float | None = None
    delay: int | None = None
    #: of STREAM
    kernel: str | None = None
    #: of memo
    instruction: str | None = None
    #: of the walked buffer
    size_bytes: int = 0


class File(Load, frozen=True):
    """A result's file: ``bench`` is in those of the bench, ``benchmark`` in those of cxlab-memo."""

    bench: str | None = None
    benchmark: str | None = None
    node: str | None = None
    #: pages of each node
    placement: dict[str, int] | None = None
    #: None: those of the bench are beside the points
    settings: Load | None = None
    #: of a real machine; None: simulated
    provenance: dict[str, Any] | None = None
    points: list[FilePoint] | None = None

    @property
    def load(self) -> Load:
        """The load of all points."""
        return self if self.settings is None else self.settings


def _of_json(document: object, told: Told) -> list[Series]:
    """Read a result of the bench or of memo; a point may say its own mix, threads, pattern."""
    file = msgspec.convert(document, type=File)
    name = file.benchmark if file.bench is None else file.bench
    if name is None:
        raise KeyError("benchmark")
    if file.points is None:
        raise KeyError("points")
    kind = Kind.LOADED_LATENCY if name == "mess" else Kind(name)
    groups: dict[Workload, list[MeasuredPoint]] = {}
    for point in file.points:
        workload = _workload(kind, file, point, told)
        # Bench's bandwidth points carry the mean latency of their loads, which no other tool knows.
        latency = None if kind in (Kind.BANDWIDTH, Kind.STREAM) else point.latency_ns
        bandwidth = None if kind in (Kind.LATENCY, Kind.MEMO) else point.bandwidth_mb_s
        measured = MeasuredPoint(
            None if latency is None else _figure("latency_ns", latency),
            None if bandwidth is None else _figure("bandwidth_MBps", bandwidth),
            point.delay,
            point.kernel if kind is Kind.STREAM else point.instruction,
        )
        groups.setdefault(workload, []).append(measured)
    if kind is Kind.LATENCY:
        groups = {workload: _largest(file.points, points) for workload, points in groups.items()}
    return [Series(kind, workload, tuple(points)) for workload, points in groups.items()]


def _largest(found: Sequence[FilePoint], points: list[MeasuredPoint]) -> list[MeasuredPoint]:
    """Give the last plateau of a sweep over sizes: smaller buffers are in the caches."""
    sizes = [point.size_bytes for point in found]
    return [point for size, point in zip(sizes, points, strict=True) if size == max(sizes)]


def _workload(kind: Kind, file: File, point: FilePoint, told: Told) -> Workload:
    if file.placement is None and file.node is None:
        raise KeyError("node")
    shares = ((file.node or "", 1),) if file.placement is None else tuple(file.placement.items())
    if told.node is not None:
        shares = ((told.node, 1),)
    elif file.provenance is not None:
        raise InputError(
            Code.MEASURED_FILE, "--node", f"the figures are of `{file.node}` of a real machine",
            "the simulated node that it stands for",
        )  # fmt: skip
    workload = Workload("", Placement(shares), 0)
    if kind in (Kind.LATENCY, Kind.MEMO):
        return workload
    said = (point.threads, file.load.threads, told.threads)
    threads = next((count for count in said if count is not None), None)
    if not isinstance(threads, int):
        raise InputError(
            Code.MEASURED_FILE, "--threads", "the file does not say", "how many threads loaded it"
        )
    workload = replace(workload, threads=threads)
    if kind is Kind.STREAM:
        return workload
    mix, store = _mix(point, file.load)
    pattern = _pattern(point.pattern or file.load.pattern or "sequential")
    return replace(
        workload,
        mix=Mix.parse(mix),
        pattern=pattern,
        store=store,
        latency_thread=kind is Kind.LOADED_LATENCY,
    )


def _pattern(name: str) -> Pattern:
    if name not in PATTERNS:
        raise ValueError(f"unknown pattern `{name}`; known: {', '.join(PATTERNS)}")
    return PATTERNS[name]


def _mix(point: FilePoint, load: Load) -> tuple[str, Store]:
    """Give lines read to lines written, and by which stores; memo's bandwidth may name an instruction."""
    if point.instruction is not None:
        return INSTRUCTIONS[point.instruction]
    mix = point.mix or load.mix or "1:0"
    if isinstance(mix, list):
        raise ValueError(f"the file has mixes {', '.join(mix)}, and a point does not say which is its own")
    store: Store = msgspec.convert(load.store or "ordinary", type=Store)
    return mix, store


def _imported(file: Path) -> dict[str, Any]:
    """Another tool's text, by ``cxlab-memo import``; machine and node are the caller's to say."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "imported.json"
        command = [
            artefacts.built(artefacts.MEMO),
            "import",
            file,
            "--machine",
            "real",
            "--node",
            "real",
            "--json",
            out,
        ]
        done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip())
        document: dict[str, Any] = json.loads(out.read_bytes())
    return document
