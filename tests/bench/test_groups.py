"""Points that differ in their delay only start from one warmed machine. Each is the point that runs alone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest
from cxlab import model
from cxlab.bench.request import Mix, Placement, Workload
from cxlab.border import BenchJob, BenchPoint
from cxlab.error import RefusedByModel

#: The peak, below the knee, idle.
DELAYS = (0, 300, 20000)


def jobs_of(mix: str, threads: int = 4, **settings: object) -> list[BenchJob]:
    workload = Workload("spr-a1000", Placement((("cxl", 1),)), threads, Mix.parse(mix))
    return [{**workload.job(delay), **settings} for delay in DELAYS]  # type: ignore[typeddict-item]


def alone(jobs: list[BenchJob]) -> list[BenchPoint]:
    return [model.bench_point(job) for job in jobs]


@pytest.mark.parametrize("mix", ["1:0", "1:1"])
def test_points_of_a_group_are_those_that_run_alone(mix: str) -> None:
    jobs = jobs_of(mix)
    points = model.bench_points(jobs)
    assert points == alone(jobs)
    assert len({point.latency_ns for point in points}) == len(DELAYS), "no delay changes anything"


def test_groups_that_are_mixed_come_back_in_the_order_of_their_jobs() -> None:
    # Two groups, one of them with checks; a job alone in its group by its seed.
    reads, checked = jobs_of("1:0", threads=1), jobs_of("1:1", threads=1, check=True)
    odd: BenchJob = {**reads[0], "seed": 7}
    jobs = [job for pair in zip(reads, reversed(checked), strict=True) for job in pair] + [odd]
    points = model.bench_points(jobs)
    assert points == alone(jobs)
    assert [point.delay for point in points] == [job["delay"] for job in jobs]
    assert [point.checked is not None for point in points] == [False, True] * 3 + [False]


def test_a_job_that_is_refused_ends_the_sweep_with_the_models_words() -> None:
    jobs = jobs_of("1:0", threads=1)
    refused: BenchJob = {**jobs[0], "threads": 999}
    with pytest.raises(RefusedByModel, match="valid: 1 to"):
        model.bench_points([*jobs, refused])
    assert model.bench_points([]) == []


def test_what_a_listener_raises_ends_the_sweep() -> None:
    heard: list[None] = []

    def stop() -> None:
        heard.append(None)
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        model.bench_points(jobs_of("1:0", threads=1), stop)
    assert len(heard) == 1


@pytest.fixture
def _sigint_is_heard() -> Iterator[None]:
    """A shell lets what it starts in the background ignore SIGINT, and Python leaves that as it is."""
    was = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, was)


@pytest.mark.usefixtures("_sigint_is_heard")
def test_ctrl_c_ends_a_sweep_and_its_threads() -> None:
    before = len(os.listdir("/proc/self/task"))
    jobs: list[BenchJob] = [
        {**job, "seed": seed} for seed in range(1, 200) for job in jobs_of("1:0", threads=1)
    ]
    ended: list[None] = []

    def listen() -> None:
        ended.append(None)
        if len(ended) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        model.bench_points(jobs, listen)
    assert len(ended) < len(jobs)
    # A thread that has returned may still be on its way out of the kernel's list.
    until = time.monotonic() + 60
    while len(os.listdir("/proc/self/task")) > before:
        assert time.monotonic() < until, "a thread of the sweep is left"
        time.sleep(0.01)
