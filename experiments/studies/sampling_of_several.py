"""Sampling on several processors: how often the interval of time covers full detail.

::

    programs on 2, 4 or 8 processors; of these, the method was developed on embedding and xz
      a few times in full detail, in environments of different lengths  -->  mean of simulated time and of IPC
      once for each seed, sampled live, the first window where the seed says  -->  interval covers the mean?

An interval of 95 % is to cover in 19 of 20 draws. A run is deterministic, but threads that wait for each
other do so at other moments after the smallest change. So one run in full detail is no more than one draw,
and the length of an environment variable, which means nothing, gives another one. A live sampled run is a run
of its own, too. So this judges the interval and the run together. Finished runs are kept in --out, and a
second call goes on where the first one ended.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, variance

from cxlab.border import RunResult
from cxlab.error import InputError

from experiments import guests
from experiments.experiment import Asked, Report, real
from experiments.report import Cell, Column, Table

SUBJECT = real("six programs of threads or processes, three on 8 processors too, on Linux in the guest")
SAMPLE = "detail=10us,warm=30us,every=200us"
SEEDS, QUICK_SEEDS = 20, 2
#: Runs in full detail. Each has a variable in its environment that is longer by so many bytes.
FULL_RUNS, QUICK_FULL_RUNS = 6, 2
LONGER = 100
FIGURES = ("simulated_seconds", "ipc")
#: What a program prints where its timing begins.
READY = "ready"
QUERIES = """
import duckdb
base = duckdb.connect(config={{"threads": {threads}}})
base.execute("create table t as select i % 1000 as k, hash(i) % 100000 as v from range({rows}) r(i)")
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
#: Starts Redis at a port, waits until it answers, and asks it.
SERVER = "redis-server --port {port} --save '' --appendonly no --daemonize yes --dir /tmp --logfile /dev/null"
ANSWERS = "until redis-cli -p {port} ping >/dev/null 2>&1; do sleep 0.01; done"
CLIENT = "redis-benchmark -p {port} -t set,get -n 500 -c 8 -r 1000 -d 256 -q --csv >/dev/null"
REDIS = f"""
{SERVER}
{ANSWERS}
echo ready
{CLIENT}
redis-cli -p {{port}} shutdown nosave
""".format(port=7777)
#: Four servers, each with a client of its own.
REDIS_SERVERS = f"""
ports="7777 7778 7779 7780"
for port in $ports; do
    {SERVER}
done
for port in $ports; do
    {ANSWERS}
done
echo ready
for port in $ports; do
    {CLIENT} &
done
wait
""".format(port="$port")


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

    def xz() -> Subject:
        return Subject(4, ["sh", "-c", XZ.format(text=guests.text_file(folder, 20_000))], FROM_READY)

    def embedding() -> Subject:
        program = str(guests.build_workload(folder, "embedding"))
        return Subject(4, [program, "65536", "1500", "80", "4", "4", "0", "0", "0", "1"], MARKED)

    def euler(threads: int, steps: int) -> Subject:
        openmp = ["env", f"OMP_NUM_THREADS={threads}", "OMP_PROC_BIND=true", "OMP_WAIT_POLICY=passive"]
        program = str(guests.build_workload(folder, "euler", "-mfma", "-fopenmp"))
        return Subject(threads, [*openmp, program, "160", "160", "1", str(steps)], MARKED)

    def ledger() -> Subject:
        return Subject(4, [str(guests.build(folder, "ledger")), "4", "40000"], MARKED)

    def duckdb(threads: int, rows: int) -> Subject:
        queries = QUERIES.format(threads=threads, rows=rows)
        return Subject(threads, [sys.executable, "-c", queries], FROM_READY)

    def redis(cpus: int, script: str) -> Subject:
        return Subject(cpus, ["sh", "-c", script], FROM_READY)

    return {
        "xz": xz,
        "embedding": embedding,
        "euler": lambda: euler(4, 3),
        "ledger": ledger,
        "duckdb": lambda: duckdb(4, 60_000),
        "redis": lambda: redis(2, REDIS),
        "euler-8": lambda: euler(8, 12),
        "duckdb-8": lambda: duckdb(8, 240_000),
        "redis-8": lambda: redis(8, REDIS_SERVERS),
    }


def run(folder: Path, name: str, subject: Subject, *options: str) -> RunResult | None:
    """One run, unless it is there. None: it failed, which says why in a file beside it."""
    asked = ["--cpus", str(subject.cpus), *subject.options, *options]
    try:
        _, ran = guests.run_once(folder, name, asked, subject.program)
    except InputError as failed:
        (folder / f"{name}.failed").write_text(str(failed))
        return None
    return ran


@dataclass(frozen=True)
class Judged:
    """A program's samples against full detail, of which there is one run at least."""

    full: Sequence[RunResult]
    samples: Sequence[RunResult]

    def in_full(self, figure: str) -> list[float]:
        """The figure in each run in full detail."""
        return [float(getattr(one, figure)) for one in self.full]

    def intervals(self, figure: str) -> list[tuple[float, float]]:
        """Intervals of the samples that have one."""
        found = [(sample.sampling.intervals or {}).get(figure) for sample in self.samples if sample.sampling]
        return [(low, high) for low, high in filter(None, found)]

    def covers(self, figure: str) -> int:
        """Number of samples whose interval covers the figure."""
        value = mean(self.in_full(figure))
        return sum(low <= value <= high for low, high in self.intervals(figure))

    def half_width(self, figure: str) -> float:
        """Mean, relative to full detail."""
        found = self.intervals(figure)
        return sum(high - low for low, high in found) / 2 / max(len(found), 1) / mean(self.in_full(figure))

    def error(self, figure: str) -> float:
        """Error of the samples' mean, relative to full detail."""
        sampled = sum(getattr(sample, figure) for sample in self.samples) / max(len(self.samples), 1)
        return float(sampled / mean(self.in_full(figure))) - 1

    def error_of_error(self, figure: str) -> float:
        """Standard error of that: samples and full detail both scatter."""
        of_means = 0.0
        for runs in (self.full, self.samples):
            if len(runs) > 1:
                of_means += variance(float(getattr(one, figure)) for one in runs) / len(runs)
        return math.sqrt(of_means) / mean(self.in_full(figure))

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


def lengthened(subject: Subject, number: int) -> Subject:
    """Lengthen the environment of a subject, but for that of the first run."""
    if number == 0:
        return subject
    return replace(subject, program=["env", f"CXLAB_LONGER={'x' * (number * LONGER)}", *subject.program])


def judged(folder: Path, name: str, subject: Subject, seeds: int, full_runs: int) -> Judged | None:
    """One program; none if no run in full detail ended."""
    full = [run(folder, f"{name}-full-{number}", lengthened(subject, number)) for number in range(full_runs)]
    ended = [one for one in full if one is not None]
    if not ended:
        return None
    found = [
        run(folder, f"{name}-{seed}", subject, "--sample", SAMPLE, "--sample-seed", str(seed))
        for seed in range(seeds)
    ]
    return Judged(ended, [sample for sample in found if sample is not None])


def _row(name: str, cpus: int, one: Judged | None) -> list[Cell]:
    if one is None:
        return [name, str(cpus), *[""] * 6]
    time, ipc = FIGURES
    count = len(one.samples)
    full = [1e3 * seconds for seconds in one.in_full(time)]
    return [
        name,
        str(cpus),
        f"{mean(full):.2f} ms ({min(full):.2f} .. {max(full):.2f})",
        one.windows,
        f"{one.covers(time)} of {count}" + (f", {one.named} named" if one.named else ""),
        f"{one.covers(ipc)} of {count}",
        f"{one.half_width(time):.1%}",
        f"{one.error(time):+.1%} ({one.error_of_error(time):.1%})",
    ]


def measure(asked: Asked) -> Report:
    """All programs, a row each; quick: the first alone, with few seeds."""
    seeds, full_runs = (QUICK_SEEDS, QUICK_FULL_RUNS) if asked.quick else (SEEDS, FULL_RUNS)
    chosen = list(programs(asked.folder).items())[: 1 if asked.quick else None]
    rows, notes = [], []
    for name, prepare in chosen:
        subject = prepare()
        one = judged(asked.folder, name, subject, seeds, full_runs)
        rows.append(_row(name, subject.cpus, one))
        if one is None or len(one.samples) < seeds or len(one.full) < full_runs:
            notes.append(f"{name}: a run failed; see {asked.folder}/{name}-*.failed")
    columns = [
        "program",
        "vCPUs",
        "full detail",
        "windows",
        "time covered",
        "IPC covered",
        "half width",
        "mean error (standard error)",
    ]
    return Report([Table(f"{SAMPLE} against full detail", [Column(name) for name in columns], rows)], notes)
