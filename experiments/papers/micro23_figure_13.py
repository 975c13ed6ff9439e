"""MICRO'23 (Sun et al.), figure 13: Caption from 50 % on real programs and mixes, beside static shares.

Caption is the servers' controller, in the guest. Its estimator is fitted as the paper fitted its own: on
embedding reduction at several shares. Nothing is fitted on the programs that it steers. They run for ever,
and their pages follow each new share. The paper's programs ended, and their next executions took it. A
millisecond stands for a second, five where a program's demand comes and goes within some. Throughput is that
of instructions in user mode: no program spins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal

import click
from cxlab import figure
from cxlab.caption.log import Held, Line, held, read
from cxlab.cli.workload import find
from cxlab.figure import Line as Curve
from cxlab.run.guest import artefacts
from cxlab.workload import prepared

from experiments import guests, machines, workloads
from experiments.experiment import Asked, Report
from experiments.report import PAGES, Figures, Row, change

MAKES = ("micro23/fig13",)
Mode = Literal["paper", "adaptive"]
#: Arguments of a program that runs for ever on its threads: 27 to 57 MB,
#: at least twice the caches of four processors, 12 MB.
PROGRAMS = {
    "fdtd": ("80", "0", "1000000000"),
    "network-simplex": ("24000", "192000", "1", "1000000000"),
    "ocean": ("136", "30", "0", "1000000000"),
    "relativity": ("40", "0", "1000000000"),
}
#: Rows, queries, rows a query, threads, warm queries, skew, exponential, fill, seed. It has drawn all queries
#: before the first.
EMBEDDING = ("65536", "40000", "80", "4", "0", "0", "0", "0", "1")
SUBJECT = workloads.subject_of(*PROGRAMS, "embedding")
CPUS, MEMORY = 4, "dram=256M,cxl=256M"
SHARES, QUICK_SHARES = "0%,10%,20%,30%,40%,50%", "0%,20%,50%"
#: Samples of a search.
SAMPLES, QUICK_SAMPLES = "80", "25"
#: A program has set itself up by then.
DELAY, EMBEDDING_DELAY = "60ms", "90ms"
#: Pages move fast, so that a share is judged soon.
STEERED = ("--move-rate", "8GB/s", "--least-samples", "4", "--settling-samples", "1")


@dataclass(frozen=True)
class Case:
    """The programs that run together, those of the paper, and its gain."""

    names: Sequence[str]
    beside: str
    #: gain over the better of 0 % and 50 % [%]
    gain: float
    #: length of a sample, of simulated time
    interval: str = "1ms"

    @property
    def label(self) -> str:
        """Name of the case in the table."""
        return " + ".join(self.names)


CASES = (
    Case(["fdtd"], "fotonik3d", 19.0),
    Case(["network-simplex"], "mcf", 18.0),
    Case(["ocean"], "roms", 8.0, "5ms"),
    Case(["relativity"], "cactuBSSN", 20.0, "5ms"),
    Case(["network-simplex", "ocean"], "mcf and roms", 24.0, "5ms"),
    Case(["relativity", "ocean"], "cactuBSSN and roms", 1.0, "5ms"),
)


def command(names: Sequence[str]) -> list[str]:
    """The command that runs these programs beside each other on all processors, for ever."""
    threads = CPUS // len(names)
    variables = [f"OMP_NUM_THREADS={threads}", "OMP_WAIT_POLICY=passive"]
    if len(names) == 1:
        return ["env", *variables, "OMP_PROC_BIND=true", *_program(names[0])]
    programs = " & ".join(" ".join(_program(name)) for name in names)
    return ["env", *variables, "sh", "-c", programs]


def _program(name: str) -> list[str]:
    workload = find(name)
    built = prepared.prepare(workload, workload.values("paper-ratio", ()), 0).build / prepared.PROGRAM
    return [str(built), *(EMBEDDING if name == "embedding" else PROGRAMS[name])]


@dataclass
class Runs:
    """Runs of ``cxlab caption`` in a folder. A finished one is not made again."""

    folder: Path
    machine: Path

    def log(self, name: str, program: Sequence[str], *options: str) -> Path:
        """The controller's log of one run."""
        out = self.folder / name
        done = out.with_suffix(".done")
        if not done.exists():
            click.echo(f"cxlab: {name}", err=True)
            given: list[str | Path] = ["--machine", self.machine, "--out", out, "--overwrite"]
            given += ["--cpus", str(CPUS), "--memory", MEMORY, *STEERED, *options, "--", *program]
            done.write_text(guests.cxlab("caption", *given))
        return out / "caption.jsonl"

    def sweep(self, names: Sequence[str], interval: str, shares: str) -> Path:
        """The log of a static sweep."""
        delay = EMBEDDING_DELAY if "embedding" in names else DELAY
        options = ["--mode", "sweep", "--shares", shares, "--interval", interval, "--delay", delay]
        return self.log(f"{'-'.join(names)}-sweep", command(names), *options)

    def search(self, case: Case, mode: Mode, model: Path, samples: str) -> list[Line]:
        """Samples of Caption from 50 %."""
        options = ["--mode", mode, "--start", "50%", "--most-samples", samples]
        options += ["--interval", case.interval, "--delay", DELAY]
        options += ["--model", str(model)] if mode == "paper" else ["--objective", "throughput"]
        return read(self.log(f"{'-'.join(case.names)}-{mode}", command(case.names), *options))


def measure(asked: Asked) -> Report:
    """Fit, sweep, steer, compare; quick: the first case, searched in one mode."""
    runs = Runs(asked.folder, machines.quarter_of_snc(asked.folder))
    shares, samples = (QUICK_SHARES, QUICK_SAMPLES) if asked.quick else (SHARES, SAMPLES)
    model = asked.folder / "model.json"
    modes: tuple[Mode, ...] = ("adaptive",) if asked.quick else ("paper", "adaptive")
    if not asked.quick:
        guests.run_tool(artefacts.CAPTION, "fit", runs.sweep(["embedding"], "1ms", shares), "--output", model)
    found = _Found()
    for case in CASES[:1] if asked.quick else CASES:
        static = held(read(runs.sweep(case.names, case.interval, shares)))
        found.add_static(case, static)
        for mode in modes:
            found.add_search(case, mode, static, runs.search(case, mode, model, samples))
    draw = partial(
        figure.lines,
        title="Caption from 50 %, adaptive",
        x="time [ms]",
        y="pages on CXL memory [%]",
        curves=found.curves,
    )
    notes = ["the paper's shares at the end: 29 to 41 %", *found.notes]
    return Report([Figures("MICRO'23 figure 13: Caption in the guest", found.rows, MAKES[0])], notes, draw)


def default(static: Sequence[Held]) -> float:
    """Throughput of the better of 0 % and 50 %."""
    return max(one.throughput for one in static if one.share < 0.01 or abs(one.share - 0.5) < 0.01)


@dataclass
class _Found:
    """Rows, curves and notes of all cases."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)

    def add_static(self, case: Case, static: Sequence[Held]) -> None:
        """The best static share."""
        best = max(static, key=lambda one: one.throughput)
        label = f"{case.label} ({case.beside})"
        self.rows.append(Row(f"{label}: best static share", None, round(100 * best.share), PAGES))
        gain = change(best.throughput, default(static))
        self.rows.append(Row("  best static share: over the better of 0 and 50 %", None, gain))

    def add_search(self, case: Case, mode: Mode, static: Sequence[Held], lines: list[Line]) -> None:
        """The end of a search: the last third of its samples, without those in which pages moved."""
        last = [line for line in lines[-(len(lines) // 3) :] if not line.left_out]
        reached = [line.throughput for line in last]
        gain = change(fmean(reached), default(static))
        what = f"  {mode}: over the better of 0 and 50 %"
        self.rows.append(Row(what, case.gain, gain, rank=f"gain, {mode}"))
        share, spread = 100 * fmean(line.cxl_share for line in last), stdev(reached) / fmean(reached)
        self.notes.append(
            f"{case.label}, {mode}: share {share:.1f} % at the end, a sample's throughput +-{spread:.1%}"
        )
        if mode == "adaptive":
            points = [(1e3 * line.time_s, 100 * line.cxl_share) for line in lines]
            self.curves.append(Curve(case.label, points))
