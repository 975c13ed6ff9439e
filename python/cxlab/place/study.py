"""Runs studies in parallel, and has Caption steer them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from cxlab import model
from cxlab.border import (
    CaptionExecution,
    CaptionJob,
    CaptionMode,
    CaptionObjective,
    CaptionOutcome,
    Interval,
)
from cxlab.place.request import Share, Study

#: Who listens to runs of Caption: the job's number, and an execution that has ended.
Heard = Callable[[int, CaptionExecution], None]


@dataclass(frozen=True)
class Outcome:
    """An interval of a study."""

    interval: Interval

    @property
    def work(self) -> float:
        """Work of all processes, in their unit, a second."""
        return sum(self.works)

    @property
    def works(self) -> list[float]:
        """Work of each process, in its unit, a second."""
        return [process.work_per_second for process in self.interval.processes]

    @property
    def p99_us(self) -> float:
        """99th percentile of the first process's requests, from arrival to answer [us]."""
        latency = self.interval.processes[0].latency_us
        assert latency is not None, "the first process answers no requests"
        return latency.p99

    @property
    def kernel_share(self) -> float:
        """Share of the programs' cores that the kernel took."""
        processes = self.interval.processes
        return sum(process.kernel_share for process in processes) / len(processes)

    @property
    def cxl_share(self) -> float:
        """Share of the first process's pages that is on CXL memory."""
        return self.interval.processes[0].resident.get("cxl", 0.0)

    def count(self, statistic: str) -> float:
        """A statistic of the operating system."""
        value = self.interval.os[statistic]
        assert isinstance(value, int | float), f"{statistic} is no number"
        return float(value)

    def node_mb_s(self, node: str) -> float:
        """Bytes that a node read and wrote [10^6 B/s]."""
        figures = self.interval.nodes[node]
        return figures.read_mb_s + figures.write_mb_s

    def traffic_mb_s(self) -> float:
        """Bytes that all nodes read and wrote [10^6 B/s]."""
        return sum(self.node_mb_s(node) for node in self.interval.nodes)

    def migrated_mb_s(self) -> float:
        """Bytes that migrations read and wrote [10^6 B/s]."""
        return self.count("copied_lines") * 128 / self.interval.simulated_us


def of_the_best(outcomes: Sequence[Outcome]) -> list[float]:
    """Each placement's work over the best one's; of several applications, the mean of each one's ratio.

    Works have units of their own, and a sum of them would follow the application with the largest number.
    """
    best = [max(works) for works in zip(*(outcome.works for outcome in outcomes), strict=True)]
    return [
        fmean(work / most if most else 0.0 for work, most in zip(outcome.works, best, strict=True))
        for outcome in outcomes
    ]


@dataclass(frozen=True)
class CaptionSettings:
    """A run of Caption; microseconds stand for the paper's seconds."""

    mode: CaptionMode
    #: share of CXL memory at first [%]
    start: int = 50
    #: throughput, published, or a model that was fitted
    objective: CaptionObjective = "throughput"
    executions: int = 24
    samples: int = 12
    sample: str = "12 us"


def run(studies: Sequence[Study]) -> list[Outcome]:
    """Run studies; their outcomes in order.

    Raises:
        RefusedByModel: the model refuses a study; the text names what is valid.

    """
    intervals = model.parallel([partial(model.study, study.document()) for study in studies])
    return [Outcome(interval) for interval in intervals]


def caption(
    jobs: Sequence[tuple[Study, CaptionSettings, Sequence[float]]], heard: Heard | None = None
) -> list[CaptionOutcome]:
    """Have Caption steer studies; `normal` of each is the throughput of its processes that makes 1.

    ``heard`` is told of each execution when it ends. After ctrl-C no job begins another.

    Raises:
        RefusedByModel: the model refuses a study; the text names what is valid.

    """
    jobs_asked: list[CaptionJob] = [
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
    return _captions(jobs_asked, heard)


def fit(study: Study, shares: Sequence[Share], settings: CaptionSettings) -> CaptionOutcome:
    """Run at fixed shares and fit Caption's linear model: `model` and `executions`."""
    document: CaptionJob = {
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


def _captions(documents: Sequence[CaptionJob], heard: Heard | None) -> list[CaptionOutcome]:
    stopped = threading.Event()

    def tell(number: int, execution: CaptionExecution) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        if heard is not None:
            heard(number, execution)

    calls = [
        partial(model.caption, document, partial(tell, number)) for number, document in enumerate(documents)
    ]
    return model.parallel(calls, ended=stopped.set)
