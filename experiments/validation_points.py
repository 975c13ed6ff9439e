"""Figures whose bars are rows of validation/points.toml: cxlab-memo measures each row in a guest, over seeds.

::

    row ── memory_workload ──> memo-latency, memo-instructions, memo-stream, memo-loaded-latency
    `cxlab validate` has the same rows by the bench, without a guest
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from cxlab import figure
from cxlab.asked_machine import AskedMachine
from cxlab.bench import figures
from cxlab.bench.figures import Metric, Settings
from cxlab.bench.request import Mix
from cxlab.workload import repeats
from msgspec.structs import replace

from experiments import machines, workloads
from experiments.experiment import Asked, Report
from experiments.measures import (
    MEMO_INSTRUCTIONS,
    MEMO_LATENCY,
    MEMO_LOADED_LATENCY,
    MEMO_STREAM,
    ByName,
)
from experiments.report import PEAK, POINTS, RATIO, Figures, Row

#: Units of validation/points.toml that have another name in tables of experiments.
UNITS = {"%": PEAK, "x": RATIO, "points": POINTS}
#: STREAM runs four cores with four slices of LLC, so that its arrays are three times the caches.
FEW_SLICES = ("host.llc.slices=4", *machines.WHOLE_TABLES)

#: Time under load in which ordinary stores fill all caches, before detail begins.
WARM_US = 5_000

#: A mix that needs no word.
ALL_READS = "1:0"

#: Core cycles between two rounds at which memory is idle.
IDLE_DELAY = 20_000


@dataclass(frozen=True)
class Measured:
    """A row's first or second run: what to run, and which measure of it is meant."""

    runs: workloads.Runs[ByName]
    node: str
    measure: str
    #: the measure times this is in the row's unit
    factor: float = 1.0

    def over_seeds(self) -> list[float]:
        """A value a seed."""
        measures = self.runs.measure(workloads.bound(self.node))
        return [self.factor * value for value in measures[self.measure]]


def memory_workload(
    asked: Asked, machine: str, have: Settings, metric: Metric = "latency", peak: float | None = None
) -> Measured:
    """Runs, and which of their measures is meant. An efficiency needs the memory's ``peak`` [GB/s]."""
    node = have.node
    bios = (machines.NO_PREFETCH,) if have.prefetch is False else ()
    machine = AskedMachine(machine, bios)
    if have.memo is not None:
        runs = workloads.Runs(asked, MEMO_INSTRUCTIONS, machine)
        return Measured(runs, node, have.memo.replace("-", "_"))
    if have.stream is not None:
        runs = workloads.Runs(asked, MEMO_STREAM, AskedMachine(machine, (*FEW_SLICES, *bios)))
        return Measured(runs, node, have.stream)
    threads = have.threads
    if threads == 0:
        return Measured(workloads.Runs(asked, MEMO_LATENCY, machine), node, metric)
    mix, delay = Mix.parse(have.mix), have.delay
    if asked.quick and delay >= IDLE_DELAY:
        # Threads that wait load the memory as little as none.
        threads = 1
    values: dict[str, str | int] = {
        "processors": threads + 1,
        "mix": str(mix),
        "store": have.store,
        "delay": delay,
    }
    if mix.writes > 0 and have.store == "ordinary":
        # Stores are written back only out of full caches.
        values |= {"warm": 1, "warm_us": WARM_US}
    runs = workloads.Runs(asked, MEMO_LOADED_LATENCY, machine, values)
    if metric == "latency":
        return Measured(runs, node, metric)
    share = 1 - mix.read_share if metric == "write_efficiency" else 1.0
    of_peak = 1.0
    if "efficiency" in metric:
        assert peak is not None, f"{metric} needs a peak"
        of_peak = 100 / peak
    return Measured(runs, node, "bandwidth", share * of_peak)


def rows_of(sources: Sequence[str]) -> list[figures.Figure]:
    """The rows whose source begins with one of ``sources``, in the file's order."""
    return [row for row in figures.shipped() if row.source.startswith(tuple(sources))]


def figures_table(
    asked: Asked, title: str, made: str, sources: Sequence[str], quick: Collection[str]
) -> Figures:
    """Measure the rows of ``sources``, quick: those with the ids ``quick``: the table of figure ``made``."""
    wanted = [row for row in rows_of(sources) if not asked.quick or row.id in quick]
    return Figures(title, [_row(row, _estimate(asked, row)) for row in wanted], made)


def report(asked: Asked, tables: Sequence[Figures], notes: Sequence[str] = ()) -> Report:
    """The tables, and all their rows as bars."""
    pairs = [pair for table in tables for pair in table.pairs()]
    notes = [*notes, *([workloads.QUICK_NOTE] if asked.quick else [])]
    return Report(tables, notes, partial(figure.bars, title=tables[0].title, y="as tabled", pairs=pairs))


def _estimate(asked: Asked, row: figures.Figure) -> repeats.Estimate:
    have = row.settings
    if have.mixes:
        return repeats.of_values(_best_read_shares(asked, row))
    values = memory_workload(asked, row.machine, have, have.metric, have.peak_gb_s).over_seeds()
    if have.over is None:
        return repeats.of_values(values)
    # The second run has the first one's metric and peak.
    other = memory_workload(asked, row.machine, have.over, have.metric, have.peak_gb_s).over_seeds()
    if have.how == "ratio":
        return repeats.of_ratios(values, other)
    return repeats.of_values([one - of for one, of in zip(values, other, strict=True)])


def _best_read_shares(asked: Asked, row: figures.Figure) -> list[float]:
    """Share of lines read at the mix with the most bandwidth [%], for each seed."""
    have = row.settings
    mixes = have.mixes
    if asked.quick:
        mixes = (mixes[0], mixes[len(mixes) // 2], mixes[-1])
    bandwidths = [
        memory_workload(asked, row.machine, replace(have, mix=mix), "bandwidth").over_seeds() for mix in mixes
    ]
    shares = [100 * Mix.parse(mix).read_share for mix in mixes]
    return [max(zip(of_seed, shares, strict=True))[1] for of_seed in zip(*bandwidths, strict=True)]


def _row(row: figures.Figure, found: repeats.Estimate) -> Row:
    return Row(
        f"{row.what} ({row.role})",
        row.low,
        found.value,
        UNITS.get(row.unit, row.unit),
        paper_to=None if row.low == row.high else row.high,
        calibrated=row.role == "calibration",
        rank=_rank(row),
        low=found.low,
        high=found.high,
    )


def _rank(row: figures.Figure) -> str:
    """Rows that a reader compares: one metric at one load."""
    have = row.settings
    mix, delay = None if have.mix == ALL_READS else have.mix, have.delay or None
    load = (have.metric, have.how, have.stream, have.memo, mix, delay)
    return " ".join("-" if word is None else str(word) for word in load)
