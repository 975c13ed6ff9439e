"""EuroSys'24 (Tang et al.), figure 7a: TPC-H with tables in main memory, in CXL memory, promoted and spilled.

DuckDB stands for Spark, and one thread of it for an executor, which has one core. It answers the paper's four
queries over tables of 100 MB. Their working set is 80 MB. The machine is what an executor has of the paper's
server. All of its memory is on one node: with 1:1 half of the paper's executors have main memory, and the
other half CXL memory. A stage of Spark ends with its slowest executor, which is one on CXL memory. So the
interleavings differ in how many executors share a card:

::

    150 executors, four cards      3:1   37 on CXL memory,  9 a card     here  8
                                   1:1   75                19                 16
                                   1:3  112                28                 32

With a drive, DuckDB may keep 80 or 60 % of what its queries need. The text prints one range for all
interleavings and queries, 1.4 to 9.8 times slower. It says in words that drives are slower still. Hot-Promote
is half of the pages on CXL memory under Linux's own tiering. Linux scans every 20 ms, not 1000, because a
pass of the queries takes a tenth of a second. It takes minutes, so `--quick` leaves it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import mean

from cxlab import figure
from cxlab.workload.written import Ran

from experiments import machines, workloads
from experiments.experiment import Asked, Report
from experiments.measures import DUCKDB_TPCH_SPILLED, DuckdbTpchSpilled
from experiments.report import Figures, Row

SUBJECT = workloads.subject(DUCKDB_TPCH_SPILLED)
MAKES = ("eurosys24/fig7",)
#: Name of the paper -> executors that share a card, and where the text's words put it among the slowest.
INTERLEAVED = {"3:1": (8, 4), "1:1": (16, 3), "1:3": (32, 2)}
#: 1.4 and 9.8 times the time [%].
LEAST, MOST = 40.0, 880.0
#: Name of the paper -> share of the working set that is spilled [%].
SPILLED = {"MMEM-SSD-0.2": 20, "MMEM-SSD-0.4": 40}
#: "More than 34 % slowdown compared to MMEM" [%].
PROMOTED = 34.0
HALF_ON_CXL = 16
TIERING = ("--cxl", "device", "--memory", "dram=384M,cxl=512M", "--tiering", "20")
HALF = {"taken_mib": 160, "hot_ms": 20}


def measure(asked: Asked) -> Report:
    """Each configuration; quick: fewer of them, and one query."""
    notes: list[str] = []
    alone, of_alone = _run(asked, HALF_ON_CXL, workloads.share(0))
    notes.append(f"MMEM: {_ms(alone)}, working set {mean(of_alone.working_set):.1f} MB")
    rows = [Row("MMEM", None, 0.0, rank="slowdown", place=5)]
    for name, (executors, place) in list(INTERLEAVED.items())[2 if asked.quick else 0 :]:
        found, _ = _run(asked, executors, workloads.share(100))
        notes.append(f"{name}, an executor on CXL memory: {_ms(found)}")
        rows.append(_row(name, LEAST, found, alone, place=place, paper_to=MOST))
    for name, percent in list(SPILLED.items())[: 1 if asked.quick else None]:
        found, of_found = _run(asked, HALF_ON_CXL, workloads.share(0), spilled=percent)
        traffic = f"reads {mean(of_found.read):.0f} MB and writes {mean(of_found.written):.0f} MB"
        notes.append(f"{name}: {_ms(found)}, {traffic}")
        rows.append(_row(name, None, found, alone, place=1))
    if not asked.quick:
        found, of_found = _run(asked, HALF_ON_CXL, TIERING, **HALF)
        notes.append(
            f"Hot-Promote: {_ms(found)}, {mean(of_found.away):.0f} % of the pages on CXL memory at the end"
        )
        rows.append(_row("Hot-Promote", PROMOTED, found, alone))
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("EuroSys'24 figure 7a: TPC-H, time over all in main memory", rows, MAKES[0])
    draw = partial(
        figure.bars,
        title="TPC-H in CXL memory, promoted and spilled",
        y="over main memory [%]",
        pairs=table.pairs(),
    )
    return Report([table], notes, draw)


def _run(
    asked: Asked, of_a_card: int, placement: workloads.Options, **more: str | int
) -> tuple[Sequence[Ran], DuckdbTpchSpilled]:
    """The runs of a configuration, and what they measured."""
    runs = workloads.Runs(asked, DUCKDB_TPCH_SPILLED, machines.executor(asked.folder, of_a_card))
    return runs.models(placement, **more), runs.measure(placement, **more)


def _times(runs: Sequence[Ran]) -> list[float]:
    """Times of the queries: the samples' estimates."""
    return [run.simulated_s for run in runs]


def _ms(runs: Sequence[Ran]) -> str:
    return f"{1e3 * mean(_times(runs)):.0f} ms"


def _row(
    what: str,
    paper: float | None,
    new: Sequence[Ran],
    old: Sequence[Ran],
    *,
    place: int | None = None,
    paper_to: float | None = None,
) -> Row:
    """How much longer the new one takes."""
    rank = None if place is None else "slowdown"
    return workloads.row(what, paper, _times(new), _times(old), rank=rank, place=place, paper_to=paper_to)
