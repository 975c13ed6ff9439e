"""Sampling: how often its confidence intervals cover the figures of full detail.

::

    programs, each recorded once in full detail   -->   the trace sampled with 20 seeds
    a seed draws where each window is                   interval of a figure covers the full run's?

Three programs have their memory in DRAM: qsort, triad and Debian's sort. Five have it in CXL memory: Debian's
gzip, awk, perl and gcc, and Python, which fills a dictionary. Nothing of sampling was chosen with these five.
Short programs have 36 to 48 windows, and Python has 193. Of these, the start in detail was chosen with qsort.
The five load few lines from CXL memory, because the LLC holds their data. So four of them, and xz, run with
one slice of LLC, too: more lines tell of the mean latency. Five others were chosen because they load much:
tsort, shuf, awk with many keys, Python with JSON and with SQLite.

An interval of 95 % is to cover in 19 of 20 draws; 18 is what chance allows of them. Figures are all that full
detail has more than a hundred events of; counts of instructions are known and not told by windows. A sample
names the figures that too few of its windows have seen: those intervals are not to be believed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from cxlab import model
from cxlab.border import RunResult, Sampling
from cxlab.run.guest import artefacts
from cxlab.sampled import ends

from experiments import guests, machines
from experiments.experiment import Asked, Report, real
from experiments.report import Cell, Column, Table

SUBJECT = real(
    "qsort and triad of the tests; sort, gzip, xz, awk, perl, gcc, tsort, shuf and Python of Debian; on Linux"
)
SAMPLE = "detail=3k,warm=12k,every=100k"
SAMPLE_OF_SHORT = "detail=5k,warm=15k,every=300k"
#: With one slice, a warm-up of 12,000 instructions is too short (docs/decisions/sampling.md).
SAMPLE_OF_ONE_SLICE = "detail=3k,warm=30k,every=100k"
SEEDS, QUICK_SEEDS = 20, 4
#: Of a figure's intervals, those that are to cover.
ENOUGH = 18 / 20
#: Fewer events than this are in few windows or none.
LEAST_EVENTS = 100
#: How the names of nodes' mean latencies end.
MEAN_LATENCY = ".mean_load_latency_ns"
#: Shown one by one; all others as one row.
SHOWN = (
    "simulated_seconds",
    "ipc",
    "nodes.dram.loads",
    "nodes.dram.mean_load_latency_ns",
    "nodes.cxl.loads",
    "nodes.cxl.mean_load_latency_ns",
    "core.mispredictions",
)


@dataclass(frozen=True)
class Program:
    """A program of the guest, with its arguments."""

    arguments: tuple[str, ...]
    #: options of ``cxlab run``
    options: tuple[str, ...] = ()
    sample: str = SAMPLE


IN_CXL = ("--membind", "cxl")
#: A slice of LLC has 1.9 MB.
ONE_SLICE = [word for of in ("host.llc.slices=1", *machines.WHOLE_TABLES) for word in ("--set", of)]
ADDS_UP = "{ n[$1] += $2 } END { for (k in n) s += n[k]; print s }"
SORTS_KEYS = (
    "my ($k, $v) = split; $n{$k} += $v; END { my $s = 0; $s += $n{$_} * $_ for sort keys %n; print $s }"
)
FILLS_A_DICTIONARY = (
    "held = {{number * 7919 % 100003: str(number) for number in range({count})}}; print(len(held))"
)

JOINS_A_TABLE = """import sqlite3
tables = sqlite3.connect(':memory:')
tables.execute('create table t(k integer primary key, v text)')
tables.executemany('insert into t values(?, ?)', ((n * 7919 % 100003, str(n)) for n in range(14000)))
print(tables.execute('select sum(length(b.v)) from t a join t b on b.k = a.k * 31 % 100003').fetchone())"""
READS_JSON = """import json
held = [{'key': n * 7919 % 100003, 'name': str(n * 31 % 977)} for n in range(14000)]
print(len(json.loads(json.dumps(held))))"""


def programs(folder: Path) -> dict[str, Program]:
    """Build and name the programs: compute with branches, streams, and six real ones."""
    long = guests.text_file(folder, 40_000, "long")
    source = guests.ROOT / "tests/programs/rings.c"
    compile_it = ("gcc", "-O1", f"-I{artefacts.INCLUDE}", "-S", "-o", "/dev/null", str(source))
    return {
        "qsort": Program((str(guests.build(folder, "qsort")), "100000")),
        "triad": Program((str(guests.build(folder, "triad")), "20", str(4 << 20))),
        "sort": Program(("sort", str(guests.text_file(folder, 12_000)))),
        "gzip": Program(("sh", "-c", f"gzip -c {long} | wc -c"), IN_CXL),
        "python": Program(("python3", "-S", "-c", FILLS_A_DICTIONARY.format(count=40_000)), IN_CXL),
        "awk": Program(("awk", ADDS_UP, str(long)), IN_CXL),
        "perl": Program(("perl", "-ne", SORTS_KEYS, str(guests.text_file(folder, 15_000, "middle"))), IN_CXL),
        "gcc": Program(compile_it, IN_CXL),
    }


def short_programs(folder: Path) -> dict[str, Program]:
    """Build and name programs of which few windows tell."""
    sort = str(guests.build(folder, "qsort"))
    little = guests.text_file(folder, 2_000, "little")
    fills = FILLS_A_DICTIONARY.format(count=5_000)
    in_cxl = partial(Program, options=IN_CXL, sample=SAMPLE_OF_SHORT)
    sorts = {count: Program((sort, count), sample=SAMPLE_OF_SHORT) for count in ("19000", "20000", "21500")}
    return {
        **{f"short-qsort-{count}": program for count, program in sorts.items()},
        "short-gzip": in_cxl(("sh", "-c", f"gzip -c {little} | wc -c")),
        "short-python": in_cxl(("python3", "-S", "-c", fills)),
        "short-awk": in_cxl(("awk", ADDS_UP, str(little))),
    }


def in_one_slice(program: Program) -> Program:
    """The program with its memory in CXL memory and little LLC, and the sample that it then needs."""
    return replace(program, options=(*IN_CXL, *ONE_SLICE), sample=SAMPLE_OF_ONE_SLICE)


def programs_that_miss(folder: Path) -> dict[str, Program]:
    """Build and name programs whose data an LLC of one slice does not hold."""
    long_ones = programs(folder)
    chosen = {name: long_ones[name] for name in ("python", "awk", "perl", "gcc")}
    text = guests.text_file(folder, 15_000, "packed")
    chosen["xz"] = Program(("sh", "-c", f"xz -1 -T1 -c {text} | wc -c"))
    return {f"one-slice-{name}": in_one_slice(program) for name, program in chosen.items()}


def programs_that_load_much(folder: Path) -> dict[str, Program]:
    """Build and name programs of a slice that read ten thousand lines of CXL memory or more."""
    edges, keys = folder / "edges", folder / "keys"
    edges.write_text(
        "".join(f"{n * 7919 % 100003} {(n + 1 + n * 31 % 97) * 7919 % 100003}\n" for n in range(1, 40_000))
    )
    keys.write_text("".join(f"{n * 7919 % 1000003} {n * 31 % 977}\n" for n in range(50_000)))
    random, many = guests.text_file(folder, 40_000, "random"), guests.text_file(folder, 300_000, "many")
    chosen = {
        "tsort": ("sh", "-c", f"tsort {edges} | wc -l"),
        "shuf": ("sh", "-c", f"shuf --random-source={random} {many} | wc -l"),
        "awk": ("awk", ADDS_UP, str(keys)),
        "json": ("python3", "-S", "-c", READS_JSON),
        "sqlite": ("python3", "-S", "-c", JOINS_A_TABLE),
    }
    return {f"loads-{name}": in_one_slice(Program(arguments)) for name, arguments in chosen.items()}


def record(folder: Path, name: str, program: Program) -> tuple[Path, RunResult]:
    """The trace of a run in full detail, and its summary."""
    trace = folder / f"{name}.trace"
    options: list[str | Path] = ["--record", trace, *program.options]
    _, ran = guests.run_once(folder, f"out-{name}", options, program.arguments)
    return trace, ran


def sampled(folder: Path, trace: Path, sample: str, seed: int) -> RunResult:
    """Replay the trace with sampling."""
    file = folder / f"{trace.stem}-{seed}.json"
    guests.cxlab("replay", trace, "--sample", sample, "--sample-seed", str(seed), "--json", file)
    return msgspec.json.decode(file.read_bytes(), type=RunResult)


def leaves(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Each interval or number of a tree, by its path."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, f"{name}.{key}" if name else key)
    elif isinstance(tree, list) and not (len(tree) == 2 and all(isinstance(x, float) for x in tree)):
        for place, value in enumerate(tree):
            yield from leaves(value, f"{name}.{place}")
    else:
        yield name, tree


def events(full: RunResult, numbers: dict[str, float], figure: str) -> float:
    """How many events of the full run a figure is made of."""
    if figure.startswith("nodes."):
        node = figure.split(".")[1]
        return full.nodes[node].loads if "_ns" in figure else numbers[figure]
    return numbers[figure] if figure.startswith("core.") else LEAST_EVENTS


@dataclass(frozen=True)
class Coverage:
    """Coverage of one figure by its samples: does each interval cover the truth, and is it to be believed?"""

    covers: tuple[bool, ...]
    believed: tuple[bool, ...]

    @property
    def suffices(self) -> bool:
        """Whether so many cover as are to."""
        return sum(self.covers) >= ENOUGH * len(self.covers)

    def __str__(self) -> str:
        """Number of samples that cover, and of those that name a doubt."""
        named = len(self.believed) - sum(self.believed)
        return f"{sum(self.covers)}" + (f", {named} named" if named else "")


def covered(full: RunResult, samples: list[Sampling]) -> dict[str, Coverage]:
    """Coverage of each figure that windows tell of."""
    numbers = {name: value for name, value in leaves(model.document(full)) if isinstance(value, int | float)}
    intervals = [dict(leaves(sample.intervals)) for sample in samples]
    named = [set(sample.too_few_windows_for) for sample in samples]
    found = {}
    for name in [name for name in numbers if any(isinstance(of.get(name), list) for of in intervals)]:
        number = numbers[name]
        if name.startswith("instructions.") or events(full, numbers, name) < LEAST_EVENTS:
            continue
        # Where no window used a node there is no latency to tell.
        told = [place for place, of in enumerate(intervals) if isinstance(of.get(name), list)]
        # Of what does not vary the interval has no width: the last digits are rounding.
        slack = 1e-9 * abs(number)
        spans = [intervals[place][name] for place in told]
        covers = tuple(low - slack <= number <= high + slack for low, high in spans)
        found[name] = Coverage(covers, tuple(name not in named[place] for place in told))
    return found


def believed(figures: dict[str, Coverage], ending: str = "") -> str:
    """How many of the believed intervals cover the truth, of figures whose names end so."""
    pairs = [
        pair
        for name, one in figures.items()
        if name.endswith(ending)
        for pair in zip(one.covers, one.believed, strict=True)
        if pair[1]
    ]
    return f"{sum(covers for covers, _ in pairs)} of {len(pairs)}"


@dataclass(frozen=True)
class Judged:
    """A program's samples against its full run."""

    covered: dict[str, Coverage]
    #: half of the mean interval of the simulated time, relative; None: there is no interval
    half_width: float | None
    #: largest error of a sample's count of instructions, relative
    most_off: float
    #: of the simulated time, relative
    mean_error: float
    windows: int


def instructions(result: RunResult) -> int:
    """Number of committed instructions."""
    return result.instructions.user + result.instructions.kernel


def judged(folder: Path, name: str, program: Program, seeds: int) -> Judged:
    """One program: coverage by figure, and how wide the interval of the simulated time is."""
    trace, full = record(folder, name, program)
    results = [sampled(folder, trace, program.sample, seed) for seed in range(seeds)]
    samples = [result.sampling for result in results if result.sampling is not None]
    spans = [ends(sample, "simulated_seconds") for sample in samples]
    widths = [span[1] - span[0] for span in spans if span]
    known = instructions(full)
    errors = [result.simulated_seconds / full.simulated_seconds - 1 for result in results]
    return Judged(
        covered(full, samples),
        sum(widths) / 2 / len(widths) / full.simulated_seconds if widths else None,
        max(abs(instructions(result) - known) for result in results) / known,
        sum(errors) / seeds,
        samples[0].windows,
    )


def measure(asked: Asked) -> Report:
    """A table each of long, short, missing and loading programs; quick: the first of each alone."""
    seeds = QUICK_SEEDS if asked.quick else SEEDS
    tables, notes = [], []
    for make in (programs, short_programs, programs_that_miss, programs_that_load_much):
        all_of = make(asked.folder)
        chosen = dict(list(all_of.items())[: 1 if asked.quick else None])
        results = {name: judged(asked.folder, name, program, seeds) for name, program in chosen.items()}
        sample = next(iter(chosen.values())).sample
        tables.append(_table(f"covered of {seeds}, {sample}", results))
        for name, one in results.items():
            below = "; ".join(f"{figure} {of}" for figure, of in one.covered.items() if not of.suffices)
            notes.append(f"{name}, below: {below or 'none'}")
    return Report(tables, notes)


def _table(heading: str, results: Mapping[str, Judged]) -> Table:
    """A column for each program, a row for each figure that is shown."""
    ones = list(results.values())
    all_of = [one.covered for one in ones]
    rows: list[list[Cell]] = [
        [figure, *(str(one.covered.get(figure, "")) for one in ones)] for figure in SHOWN
    ]
    rows += [
        [
            f"figures covered by {ENOUGH:.0%} or more",
            *(f"{sum(one.suffices for one in of.values())} of {len(of)}" for of in all_of),
        ],
        ["all intervals that are believed", *map(believed, all_of)],
        ["mean latencies that are believed", *(believed(of, MEAN_LATENCY) for of in all_of)],
        ["windows", *(str(one.windows) for one in ones)],
        [
            "half width of simulated time",
            *("" if one.half_width is None else f"{one.half_width:.1%}" for one in ones),
        ],
        ["mean error of simulated time", *(f"{one.mean_error:+.2%}" for one in ones)],
        ["instructions are off by, at most", *(f"{one.most_off:.0e}" for one in ones)],
    ]
    return Table("samples against full detail", [Column(heading), *map(Column, results)], rows)
