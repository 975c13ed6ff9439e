"""Runs the points of a bench in parallel."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cxlab import model, output
from cxlab.border import BenchJob, BenchPoint


def run(jobs: Sequence[BenchJob], title: str) -> list[BenchPoint]:
    """Run all jobs; the points in their order. A bar on a terminal, nothing in a log.

    Raises:
        RefusedByModel: the model refuses a job; the text names what is valid.

    """
    with output.bar() as bar:
        task = bar.add_task(title, total=len(jobs))
        return model.bench_points(jobs, lambda: bar.advance(task))


@dataclass(frozen=True)
class Spread:
    """A figure over the seeds of the draw."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> Spread:
        """Summarize one figure or more."""
        return cls(statistics.fmean(figures), min(figures), max(figures))

    def __str__(self) -> str:
        """``120.5 (118.0 to 123.1)``."""
        return f"{self.mean:,.1f} ({self.low:,.1f} to {self.high:,.1f})"


#: What is drawn anew by each seed: orders of accesses, so these figures.
SPREAD = ("latency_ns", "bandwidth_mb_s")


def run_drawn(jobs: Sequence[BenchJob], seeds: int, title: str) -> list[list[BenchPoint]]:
    """Run the jobs with each of the seeds 1 to ``seeds``, in one simulation: for each seed, the points."""
    drawn: list[BenchJob] = [{**job, "seed": seed} for seed in range(1, seeds + 1) for job in jobs]
    points = run(drawn, title if seeds == 1 else f"{title}, {seeds} seeds")
    return [points[first : first + len(jobs)] for first in range(0, len(points), len(jobs))]


def run_seeds(
    jobs: Sequence[BenchJob], seeds: int, title: str
) -> tuple[list[BenchPoint], list[dict[str, Spread]]]:
    """Run each job with seeds 1 to ``seeds``: the points of the first one, and the spread of all.

    With one seed nothing is known of the spread.
    """
    draws = run_drawn(jobs, seeds, title)
    if seeds == 1:
        return draws[0], []
    spreads = []
    for drawn in zip(*draws, strict=True):
        figures = {name: [getattr(point, name) for point in drawn] for name in SPREAD}
        spreads.append({name: Spread.of(each) for name, each in figures.items() if None not in each})
    return draws[0], spreads
