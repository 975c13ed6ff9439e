"""Workloads on placements, over seeds: what they measured, and which differences are real.

::

    runs = Runs(asked, REDIS_YCSB, MACHINE, {"workload": "a"})
    new, old = (runs.measure(share(percent)).throughput for percent in (100, 0))
    row("throughput, all on CXL", -30.0, new, old)

A result is kept in the experiment's folder, named after all that it depends on. An experiment that is started
again in the same folder (`--out DIR`) goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

import click
import msgspec
from cxlab.cli.workload import find
from cxlab.workload import measures, repeats, written
from cxlab.workload.written import Ran, Written

from experiments import guests
from experiments.experiment import Asked, Subject, real
from experiments.measures import M, Program
from experiments.report import Row

#: Seeds of a figure; a subset has one and so no interval.
SEEDS = 3
#: What a comparison over one seed cannot tell.
QUICK_NOTE = "one seed of a small size: there is no interval, and no difference is shown to be real"
#: Name of the size of a subset, and end of that name where a size has one of its own.
QUICK_SIZE = "quick"

Options = tuple[str, ...]
#: EuroSys'24 (Tang et al.), 4.1.1: the kernel gives no transparent huge pages to KeyDB and its clients.
NO_HUGE_PAGES: Options = ("--huge-pages", "never")


def subject(*programs: Program[Any]) -> Subject:
    """Subject of an experiment on these workloads: each says so if it stands for another program."""
    return subject_of(*(program.name for program in programs))


def subject_of(*names: str) -> Subject:
    """Do what `subject` does, by the names of the workloads."""
    return real("; ".join(find(name).what for name in names))


def bound(node: str) -> Options:
    """Options that place all pages on a node."""
    return ("--membind", node)


def share(percent: int) -> Options:
    """Options that place this share of the pages on CXL memory."""
    weights = {10: (9, 1), 20: (4, 1), 25: (3, 1), 33: (2, 1), 50: (1, 1), 63: (3, 5), 67: (1, 2), 75: (1, 3)}
    if percent in (0, 100):
        return ("--membind", "cxl" if percent else "dram")
    dram, cxl = weights[percent]
    return ("--weighted-interleave", f"dram={dram},cxl={cxl}")


@dataclass(frozen=True)
class Runs(Generic[M]):
    """A workload on a machine."""

    asked: Asked
    workload: Program[M]
    machine: str
    values: Mapping[str, str | int] = field(default_factory=dict)
    size: str = "paper-ratio"
    seeds: int = SEEDS
    #: of every run, as the paper's machine was set
    options: Options = ()

    def measure(self, placement: Options, **more: str | int) -> M:
        """Each measure, a value for each seed."""
        measures = self._written(placement, more).measures
        seeds = {name: measured.seeds for name, measured in measures.items()}
        return msgspec.convert(seeds, self.workload.measures)

    def models(self, placement: Options, **more: str | int) -> list[Ran]:
        """Counters of the model in the same runs, for each seed."""
        return self._written(placement, more).runs

    def _written(self, placement: Options, more: Mapping[str, str | int]) -> Written:
        """The document of the runs, which are made unless the folder has them."""
        name = self.workload.name
        size, seeds = (_quick_size(name, self.size), 1) if self.asked.quick else (self.size, self.seeds)
        given = [
            word for key, value in {**self.values, **more}.items() for word in ("--with", f"{key}={value}")
        ]
        options = [*guests.options_of(self.machine), *self.options, *given, *placement]
        arguments = [name, "--size", size, *options, "--seeds", str(seeds)]
        source = json.dumps([arguments, *_files(name)])
        key = f"{name}-{hashlib.sha256(source.encode()).hexdigest()[:16]}"
        kept = self.asked.folder / f"{key}.run"
        if not kept.exists():
            click.echo(f"cxlab: cxlab workload run {' '.join(arguments)}", err=True)
            out = self.asked.folder / key
            guests.cxlab("workload", "run", *arguments, "--json", kept, "--out", out, "--overwrite")
        return written.read(kept)


def printed(workload: Program[M], said: str) -> M:
    """The measures that one run of a workload's program printed, a value each.

    Raises:
        InputError: one is missing, unknown, there twice, or no finite number.

    """
    found = measures.read(find(workload.name), said)
    return msgspec.convert({name: [value] for name, value in found.items()}, workload.measures)


def _quick_size(name: str, size: str) -> str:
    """The size of a subset of ``size``: SIZE-quick, else quick, else that of tests."""
    sizes = find(name).document.sizes
    return next(one for one in (f"{size}-{QUICK_SIZE}", QUICK_SIZE, "tiny") if one in sizes)


def _files(name: str) -> list[str]:
    """Digests of the workload's files: if one changes, the workload is measured anew."""
    workload = find(name)
    named = {workload.folder / file for file in (*workload.document.sources, *workload.document.files)}
    files = {file for file in workload.folder.rglob("*") if file.is_file()} | named
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files)]


def row(
    what: str,
    paper: float | None,
    new: Sequence[float],
    old: Sequence[float],
    *,
    rank: str | None = None,
    paper_to: float | None = None,
    place: int | None = None,
) -> Row:
    """How much more the new one is [%], with its interval over seeds."""
    ratio = repeats.of_ratios(new, old)

    def percent(of: float | None) -> float | None:
        return None if of is None else (of - 1) * 100

    return Row(
        what,
        paper,
        (ratio.value - 1) * 100,
        rank=rank,
        paper_to=paper_to,
        low=percent(ratio.low),
        high=percent(ratio.high),
        place=place,
    )
