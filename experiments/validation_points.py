"""Figures whose bars are rows of validation/points.toml: cxlab-memo measures each row in a guest, over seeds.

::

    row ── memory_workload ──> memo-latency, memo-instructions, memo-stream, memo-loaded-latency
    `cxlab validate` has the same rows by the bench, without a guest
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cxlab import figure
from cxlab.asked_machine import AskedMachine
from cxlab.bench import figures
from cxlab.bench.request import Mix
from cxlab.workload import repeats

from experiments import machines, workloads
from experiments.experiment import Asked, Report
from experiments.report import PEAK, POINTS, RATIO, Figures, Row

#: Units of validation/points.toml that have another name in tables of experiments.
UNITS = {"%": PEAK, "x": RATIO, "points": POINTS}
#: STREAM runs four cores with four slices of LLC, so that its arrays are three times the caches.
FEW_SLICES = ("host.llc.slices=4",)

#: Time under load in which ordinary stores fill all caches, before detail begins.
WARM_US = 5_000

#: Core cycles between two rounds at which memory is idle.
IDLE_DELAY = 20_000


@dataclass(frozen=True)
class Measured:
    """A row's first or second run: what to run, and which measure of it is meant."""

    runs: workloads.Runs
    node: str
    measure: str
    #: the measure times this is in the row's unit
    factor: float = 1.0

    def over_seeds(self) -> list[float]:
        """A value a seed."""
        measures = self.runs.measure(workloads.bound(self.node))
        return [self.factor * value for value in measures[self.measure]]


def memory_workload(asked: Asked, machine: str, have: Mapping[str, Any]) -> Measured:
    """The runs that measure a row with the settings ``have``, and what they count."""
    node = str(have["node"])
    bios = (machines.NO_PREFETCH,) if have.get("prefetch") is False else ()
    machine = AskedMachine(machine, bios)
    if "memo" in have:
        runs = workloads.Runs(asked, "memo-instructions", machine)
        return Measured(runs, node, str(have["memo"]).replace("-", "_"))
    if "stream" in have:
        runs = workloads.Runs(asked, "memo-stream", AskedMachine(machine, (*FEW_SLICES, *bios)))
        return Measured(runs, node, str(have["stream"]))
    metric = str(have.get("metric", "latency"))
    threads = int(have.get("threads", 16))
    if threads == 0:
        return Measured(workloads.Runs(asked, "memo-latency", machine), node, metric)
    mix, delay = Mix.parse(str(have.get("mix", "1:0"))), int(have.get("delay", 0))
    if asked.quick and delay >= IDLE_DELAY:
        # Threads that wait load the memory as little as none.
        threads = 1
    values: dict[str, str | int] = {
        "processors": threads + 1,
        "mix": str(mix),
        "store": str(have.get("store", "ordinary")),
        "delay": delay,
    }
    if mix.writes > 0 and values["store"] == "ordinary":
        # Stores are written back only out of full caches.
        values |= {"warm": 1, "warm_us": WARM_US}
    runs = workloads.Runs(asked, "memo-loaded-latency", machine, values)
    if metric == "latency":
        return Measured(runs, node, metric)
    share = 1 - mix.read_share if metric == "write_efficiency" else 1.0
    of_peak = 100 / float(have["peak_gb_s"]) if "efficiency" in metric else 1.0
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
    if "mixes" in have:
        return repeats.of_values(_best_read_shares(asked, row))
    values = memory_workload(asked, row.machine, have).over_seeds()
    if "over" not in have:
        return repeats.of_values(values)
    # The second run has the first one's metric and peak.
    shared = {key: have[key] for key in ("metric", "peak_gb_s") if key in have}
    other = memory_workload(asked, row.machine, {**shared, **have["over"]}).over_seeds()
    if have["how"] == "ratio":
        return repeats.of_ratios(values, other)
    return repeats.of_values([one - of for one, of in zip(values, other, strict=True)])


def _best_read_shares(asked: Asked, row: figures.Figure) -> list[float]:
    """Share of lines read at the mix with the most bandwidth [%], for each seed."""
    mixes: Sequence[str] = row.settings["mixes"]
    if asked.quick:
        mixes = (mixes[0], mixes[len(mixes) // 2], mixes[-1])
    settings = {**row.settings, "metric": "bandwidth"}
    bandwidths = [memory_workload(asked, row.machine, {**settings, "mix": mix}).over_seeds() for mix in mixes]
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
    load = (have.get(key, "-") for key in ("metric", "how", "stream", "memo", "mix", "delay"))
    return " ".join(map(str, load))
