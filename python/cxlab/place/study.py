"""Studies in parallel, and Caption above them: the model works without Python's lock."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from cxlab.machine import description
from cxlab.place.request import Json, PlaceError, Share, Study

#: Who listens to runs of Caption: the job's number, and an execution that has ended.
Heard = Callable[[int, Json], None]


@dataclass(frozen=True)
class Outcome:
    """An interval of a study."""

    document: Json

    @property
    def work(self) -> float:
        """Work of all processes, in their unit, a second."""
        return float(sum(process["work_per_second"] for process in self.document["processes"]))

    @property
    def p99_us(self) -> float:
        """Of the first process's requests, from arrival to answer [us]."""
        return float(self.document["processes"][0]["latency_us"]["p99"])

    @property
    def kernel_share(self) -> float:
        """Share of the programs' cores that the kernel took."""
        processes = self.document["processes"]
        return float(sum(process["kernel_share"] for process in processes) / len(processes))

    @property
    def cxl_share(self) -> float:
        """Share of the first process's pages that is on CXL memory."""
        return float(self.document["processes"][0]["resident"].get("cxl", 0.0))

    def count(self, statistic: str) -> float:
        """A statistic of the operating system."""
        return float(self.document["os"][statistic])

    def migrated_mb_s(self) -> float:
        """Bytes that migrations read and wrote [10^6 B/s]."""
        return self.count("copied_lines") * 128 / float(self.document["simulated_us"])


@dataclass(frozen=True)
class CaptionSettings:
    """A run of Caption; microseconds stand for the paper's seconds."""

    mode: str
    #: share of CXL memory at first [%]
    start: int = 50
    #: throughput, published, or a model that was fitted
    objective: Any = "throughput"
    executions: int = 24
    samples: int = 12
    sample: str = "12 us"


def run(studies: Sequence[Study]) -> list[Outcome]:
    """Run studies; their outcomes in order.

    Raises:
        PlaceError: the model refuses a study; the text names what is valid.

    """
    call = description.model().run_study
    documents = _parallel([partial(call, json.dumps(study.document())) for study in studies])
    return [Outcome(document) for document in documents]


def caption(
    jobs: Sequence[tuple[Study, CaptionSettings, Sequence[float]]], heard: Heard | None = None
) -> list[Json]:
    """Have Caption steer studies; `normal` of each is the throughput of its processes that makes 1.

    ``heard`` is told of each execution when it ends. After ctrl-C no job begins another.

    Raises:
        PlaceError: the model refuses a study; the text names what is valid.

    """
    documents = [
        {
            "study": study.document(),
            "mode": settings.mode,
            "start": settings.start / 100,
            "objective": settings.objective,
            "executions": settings.executions,
            "samples": settings.samples,
            "sample": settings.sample,
            "normal": list(normal),
            "shares": [],
        }
        for study, settings, normal in jobs
    ]
    return _captions(documents, heard)


def fit(study: Study, shares: Sequence[Share], settings: CaptionSettings) -> Json:
    """Run at fixed shares and fit Caption's linear model: `model` and `executions`."""
    document = {
        "study": study.document(),
        "mode": "fit",
        "start": 0.5,
        "objective": "throughput",
        "executions": 0,
        "samples": settings.samples,
        "sample": settings.sample,
        "normal": [1e6] * len(study.document()["processes"]),
        "shares": [share.percent / 100 for share in shares],
    }
    return _captions([document], None)[0]


def _captions(documents: Sequence[Json], heard: Heard | None) -> list[Json]:
    call = description.model().run_caption
    stopped = threading.Event()

    def tell(number: int, execution: str) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        if heard is not None:
            heard(number, json.loads(execution))

    calls = [
        partial(call, json.dumps(document), partial(tell, number))
        for number, document in enumerate(documents)
    ]
    return _parallel(calls, stopped)


def _parallel(calls: Sequence[Callable[[], str]], ended: threading.Event | None = None) -> list[Json]:
    model = description.model()
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(call) for call in calls]
        try:
            return [json.loads(future.result()) for future in futures]
        except model.CxlabError as error:
            raise PlaceError(str(error)) from None
        finally:
            # Leaving the pool waits for what has begun.
            if ended is not None:
                ended.set()
            pool.shutdown(wait=False, cancel_futures=True)
