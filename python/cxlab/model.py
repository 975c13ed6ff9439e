"""The only door to the compiled model, ``cxlab._model`` (crates/py).

Everything crosses as JSON text; `cxlab.border` has the types. What the model refuses becomes
`RefusedByModel`, with the model's own words. The model works without Python's lock, so `parallel`
needs threads only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from cxlab.asked_machine import settings_of
from cxlab.border import (
    BenchJob,
    BenchPoint,
    CaptionExecution,
    CaptionJob,
    CaptionOutcome,
    Interval,
    MachineEntry,
    MachineFigures,
    Part,
    RunResult,
    StudySpec,
)
from cxlab.error import NotBuilt, RefusedByModel

try:
    from cxlab import _model
except ImportError as _reason:
    #: why the compiled model cannot be used; None: it can
    _MISSING: str | None = str(_reason)
else:
    _MISSING = None

T = TypeVar("T")

# Threads decode these. One thread builds them, here: msgspec 0.22 can crash where two build a type at once.
_BENCH_POINT = msgspec.json.Decoder(BenchPoint)
_INTERVAL = msgspec.json.Decoder(Interval)
_CAPTION_EXECUTION = msgspec.json.Decoder(CaptionExecution)
_CAPTION_OUTCOME = msgspec.json.Decoder(CaptionOutcome)


def load() -> None:
    """Check that the compiled model is there.

    Raises:
        NotBuilt: the extension module has not been built.

    """
    if _MISSING is not None:
        raise NotBuilt(f"the timing model is not built ({_MISSING}): run `make build`")


@contextmanager
def _door() -> Iterator[None]:
    """Turn what the model refuses into the error of wrong input."""
    load()
    try:
        yield
    except _model.CxlabError as error:
        raise RefusedByModel(getattr(error, "code", ""), str(error)) from None


def file() -> Path:
    """The compiled model's file."""
    load()
    return Path(str(_model.__file__))


def machine_names() -> list[str]:
    """Names of the machines that come with CXLab."""
    load()
    return _model.machine_names()


def describe(name_or_path: str) -> MachineFigures:
    """Read and resolve a machine: its key figures and, as ``spec``, its whole description."""
    with _door():
        text = _model.load_machine(name_or_path, settings_of(name_or_path))
        return msgspec.json.decode(text, type=MachineFigures)


def entries(name_or_path: str) -> list[MachineEntry]:
    """Every value of a machine: key, value, source, place, fitted, bounds."""
    with _door():
        text = _model.machine_entries(name_or_path, settings_of(name_or_path))
        return msgspec.json.decode(text, type=list[MachineEntry])


def machine_schema() -> dict[str, Any]:
    """The JSON schema of machine files."""
    load()
    schema: dict[str, Any] = json.loads(_model.machine_schema())
    return schema


def shipped_file(path: str) -> str | None:
    """Text of a file that comes with CXLab, by its path in ``data/``."""
    load()
    return _model.shipped_file(path)


def stages() -> list[tuple[str, str, str]]:
    """Stages of a request, in the order of its way: name in results, place, what happens there.

    A place is core, home, fabric, device or media.
    """
    load()
    return _model.stages()


@cache
def core_stages() -> tuple[str, ...]:
    """Names of the stages that a request spends in its core: none of them is the memory's."""
    return tuple(name for name, place, _ in stages() if place == "core")


def causes() -> list[tuple[str, str]]:
    """Causes that a core's time is charged to beside stages: name in results, what the core does then."""
    load()
    return _model.causes()


def statistics(name_or_path: str) -> Part:
    """Every statistic of a run on a machine; the values are those of a machine at rest."""
    with _door():
        return msgspec.json.decode(_model.statistics(name_or_path), type=Part)


def errors() -> list[tuple[str, str]]:
    """Every error of the model: code and text. Braces stand for what a message says."""
    load()
    return _model.errors()


def ring_bytes() -> int:
    """Size of the shared-memory ring [bytes]."""
    load()
    return _model.ring_bytes()


def ring_time_ps(ring: int) -> int:
    """The guest's time as its plugin last showed it in the ring of this descriptor [ps]."""
    load()
    return _model.ring_time_ps(ring)


def validation_figures() -> str:
    """Silicon's figures that come with CXLab: validation/points.toml."""
    load()
    return _model.validation_figures()


def simulate(job: str) -> str:
    """Run the model on a live guest until QEMU ends: a `RunResult`, as JSON text. ``job`` is a `LiveJob`."""
    with _door():
        return _model.simulate(job)


def replay(job: str) -> str:
    """Run the model on a recorded trace: a `RunResult`, as JSON text. ``job`` is a `ReplayJob`."""
    with _door():
        return _model.replay(job)


def bench_point(job: BenchJob) -> BenchPoint:
    """Run one point of a bench."""
    with _door():
        return _BENCH_POINT.decode(_model.bench_point(json.dumps(job)))


def bench_points(jobs: Sequence[BenchJob], advance: Callable[[], None] = lambda: None) -> list[BenchPoint]:
    """Run points of a bench on all processors; the points in the order of the jobs.

    Jobs that differ in their delay only share one warming.

    Args:
        jobs: one for each point.
        advance: is called when a point has ended.

    Raises:
        RefusedByModel: the model refuses one of the jobs.

    """
    with _door():
        written = [json.dumps(job) for job in jobs]
        points = _model.bench_points(written, processors(), advance)
    return [_BENCH_POINT.decode(point) for point in points]


def study(job: StudySpec) -> Interval:
    """Run applications under an operating system."""
    with _door():
        return _INTERVAL.decode(_model.run_study(json.dumps(job)))


def caption(job: CaptionJob, heard: Callable[[CaptionExecution], None]) -> CaptionOutcome:
    """Have Caption steer applications. ``heard`` is called with each execution when it ends."""

    def tell(execution: str) -> None:
        heard(_CAPTION_EXECUTION.decode(execution))

    with _door():
        return _CAPTION_OUTCOME.decode(_model.run_caption(json.dumps(job), tell))


def run_result(document: object) -> RunResult:
    """A run's result from its JSON object; what a summary has beside it is left out."""
    try:
        return msgspec.convert(document, type=RunResult)
    except msgspec.ValidationError as error:
        raise NotBuilt(f"the timing model is of another version ({error}): run `make build`") from None


def document(result: Struct) -> dict[str, Any]:
    """A result as the model wrote it."""
    made: dict[str, Any] = msgspec.to_builtins(result)
    return made


def processors() -> int:
    """Number of this host's processors that the command may use."""
    return len(os.sched_getaffinity(0))


def parallel(
    calls: Sequence[Callable[[], T]],
    advance: Callable[[], None] = lambda: None,
    ended: Callable[[], None] = lambda: None,
) -> list[T]:
    """Make all calls, as many at once as there are CPUs; the results in order.

    Args:
        calls: of this module.
        advance: is called when one has ended.
        ended: is called before calls that still run are waited for, after ctrl-C as well.

    Raises:
        RefusedByModel: the model refuses one of them.

    """
    with ThreadPoolExecutor(max_workers=processors()) as pool:
        futures = [pool.submit(call) for call in calls]
        try:
            for future in as_completed(futures):
                future.result()
                advance()
        finally:
            ended()
            pool.shutdown(wait=False, cancel_futures=True)
    return [future.result() for future in futures]
