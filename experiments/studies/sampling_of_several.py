"""Sampling on several processors: how often the interval of time covers full detail.

::

    programs on 2 or 4 processors; of these, the method was developed on embedding and xz
      once in full detail  -->  simulated time and IPC
      once for each seed, sampled live, the first window where the seed says  -->  interval covers?

An interval of 95 % is to cover in 19 of 20 draws. A live sampled run is a run of its own: threads meet at
other moments, and do other things then. So this judges the interval and the run together. Finished runs are
kept in --out, and a second call goes on where the first one ended.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from cxlab.border import RunResult
from cxlab.error import InputError

from experiments import guests
from experiments.experiment import Asked, Report, real
from experiments.report import Cell, Column, Table

SUBJECT = real("six programs of threads or processes, on Linux in the guest")
SAMPLE = "detail=10us,warm=30us,every=200us"
SEEDS, QUICK_SEEDS = 20, 2
FIGURES = ("simulated_seconds", "ipc")
#: What a program prints where its timing begins.
READY = "ready"
QUERIES = """
import duckdb
base = duckdb.connect(config={"threads": 4})
base.execute("create table t as select i % 1000 as k, hash(i) % 100000 as v from range(60000) r(i)")
print("ready", flush=True)
print(base.execute("select count(*), sum(s) from (select k, sum(v) s from t group by k)").fetchall())
"""
#: The first time programs and text are read from the host.
XZ = """
xz -T4 -1 --block-size=16384 -c {text} >/dev/null
md5sum {text} >/dev/null
echo ready
xz -T4 -1 --block-size=16384 -c {text} | md5sum
"""
REDIS = """
redis-server --port 7777 --save '' --appendonly no --daemonize yes --dir /tmp --logfile /dev/null
until redis-cli -p 7777 ping >/dev/null 2>&1; do sleep 0.01; done
echo ready
redis-benchmark -p 7777 -t set,get -n 500 -c 8 -r 1000 -d 256 -q --csv >/dev/null
redis-cli -p 7777 shutdown nosave
"""


@dataclass(frozen=True)
class Subject:
    """A program, and how it runs."""

    cpus: int
    program: Sequence[str]
    options: Sequence[str]


MARKED = ("--detail", "marker")
FROM_READY = ("--from-output", READY)


def programs(folder: Path) -> dict[str, Callable[[], Subject]]:
    """Each by name; built or written when it is asked for."""

    openmp = ["env", "OMP_NUM_THREADS=4", "OMP_PROC_BIND=true", "OMP_WAIT_POLICY=passive"]

    return {
        "xz": lambda: Subject(4, ["sh", "-c", XZ.format(text=guests.text_file(folder, 20_000))], FROM_READY),
        "embedding": lambda: Subject(
            4,
            [str(guests.build_workload(folder, "embedding")), "65536", "1500", "80", "4", "4", "0", "1"],
            MARKED,
        ),
        "euler": lambda: Subject(
            4,
            [
                *openmp,
                str(guests.build_workload(folder, "euler", "-mfma", "-fopenmp")),
                "160",
                "160",
                "1",
                "3",
            ],
            MARKED,
        ),
        "ledger": lambda: Subject(4, [str(guests.build(folder, "ledger")), "4", "40000"], MARKED),
        "duckdb": lambda: Subject(4, [sys.executable, "-c", QUERIES], FROM_READY),
        "redis": lambda: Subject(2, ["sh", "-c", REDIS], FROM_READY),
    }


def run(folder: Path, name: str, subject: Subject, *options: str) -> RunResult | None:
    """One run, unless it is there: its summary. None: it failed, which says why in a file beside it."""
    out = folder / name
    summary = out.with_suffix(".json")
    if not summary.exists():
        asked = ["--cpus", str(subject.cpus), *subject.options, *options]
        try:
            guests.cxlab(
                "run", "--out", out, "--overwrite", *asked, "--json", summary, "--", *subject.program
            )
        except InputError as failed:
            out.with_suffix(".failed").write_text(str(failed))
            return None
    return msgspec.json.decode(summary.read_bytes(), type=RunResult)


@dataclass(frozen=True)
class Judged:
    """A program's samples against full detail."""

    full: RunResult
    samples: Sequence[RunResult]

    def intervals(self, figure: str) -> list[tuple[float, float]]:
        """Intervals of the samples that have one."""
        found = [(sample.sampling.intervals or {}).get(figure) for sample in self.samples if sample.sampling]
        return [(low, high) for low, high in filter(None, found)]

    def covers(self, figure: str) -> int:
        """Number of samples whose interval covers the figure."""
        value = getattr(self.full, figure)
        return sum(low <= value <= high for low, high in self.intervals(figure))

    def half_width(self, figure: str) -> float:
        """Mean, relative to full detail."""
        found = self.intervals(figure)
        return (
            sum(high - low for low, high in found)
            / 2
            / max(len(found), 1)
            / float(getattr(self.full, figure))
        )

    def error(self, figure: str) -> float:
        """Error of the samples' mean, relative to full detail."""
        mean = sum(getattr(sample, figure) for sample in self.samples) / max(len(self.samples), 1)
        return float(mean / getattr(self.full, figure)) - 1

    @property
    def windows(self) -> str:
        """Fewest and most windows of a sample."""
        return guests.windows(self.samples)

    @property
    def named(self) -> int:
        """Samples that say themselves that too few windows tell of the time."""
        return sum(
            "simulated_seconds" in sample.sampling.too_few_windows_for
            for sample in self.samples
            if sample.sampling
        )


def judged(folder: Path, name: str, subject: Subject, seeds: int) -> Judged | None:
    """One program."""
    full = run(folder, f"{name}-full", subject)
    if full is None:
        return None
    found = [
        run(folder, f"{name}-{seed}", subject, "--sample", SAMPLE, "--sample-seed", str(seed))
        for seed in range(seeds)
    ]
    return Judged(full, [sample for sample in found if sample is not None])


def _row(name: str, cpus: int, one: Judged | None) -> list[Cell]:
    if one is None:
        return [name, str(cpus), *[""] * 6]
    time, ipc = FIGURES
    count = len(one.samples)
    return [
        name,
        str(cpus),
        f"{1e3 * one.full.simulated_seconds:.2f} ms",
        one.windows,
        f"{one.covers(time)} of {count}" + (f", {one.named} named" if one.named else ""),
        f"{one.covers(ipc)} of {count}",
        f"{one.half_width(time):.1%}",
        f"{one.error(time):+.1%}",
    ]


def measure(asked: Asked) -> Report:
    """All programs, a row each; quick: the first alone, with few seeds."""
    seeds = QUICK_SEEDS if asked.quick else SEEDS
    chosen = list(programs(asked.folder).items())[: 1 if asked.quick else None]
    rows, notes = [], []
    for name, prepare in chosen:
        subject = prepare()
        one = judged(asked.folder, name, subject, seeds)
        rows.append(_row(name, subject.cpus, one))
        if one is None or len(one.samples) < seeds:
            notes.append(f"{name}: a run failed; see {asked.folder}/{name}-*.failed")
    columns = [
        "program",
        "vCPUs",
        "full detail",
        "windows",
        "time covered",
        "IPC covered",
        "half width",
        "mean error",
    ]
    return Report([Table(f"{SAMPLE} against full detail", [Column(name) for name in columns], rows)], notes)
