"""Points in parallel: the model works without Python's lock, so threads are enough."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cxlab.bench.request import BenchError
from cxlab.machine import description

Job = dict[str, Any]
Point = dict[str, Any]


def run(jobs: Sequence[Job], title: str) -> list[Point]:
    """Run all jobs; the points in their order. A bar on a terminal, nothing in a log.

    Raises:
        BenchError: the model refuses a job; the text names what is valid.

    """
    model = description.model()
    points: dict[int, Point] = {}
    with _bar() as bar, ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        task = bar.add_task(title, total=len(jobs))
        point: Callable[[str], str] = model.bench_point
        futures = {pool.submit(point, json.dumps(job)): place for place, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                points[futures[future]] = json.loads(future.result())
                bar.advance(task)
        except model.CxlabError as error:
            raise BenchError(str(error)) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return [points[place] for place in range(len(jobs))]


def _bar() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
