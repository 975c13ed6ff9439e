"""MERCI's whole run on 12 processors, from cold caches, beside silicon: do caches keep as much as there?

The authors of CXL-DMSim print what MERCI's data set dblp takes on their testbed, in the scripts that draw
their figures. It is 103,591 queries, of 57.3 rows each, on a table of 418,769 rows, 107 MB. MERCI writes and
reads 48 MB between two runs, so that caches begin cold (CACHE_FLUSH_PARAM of its utils.h), and tells the
time between two barriers. A row is asked for 14 times, and all caches together hold more than the table::

    time of a row = c + k x latency of the memory       silicon, from DDR-L and CXL-ASIC: c 12 ns, k 0.47

c is work that no memory delays. k falls with the lines that caches keep, and with those that are under way
together. About a quarter of an hour in all; quick takes one minute, and runs a tenth of the queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cxlab import figure

from experiments import guests, machines, workloads
from experiments.experiment import Asked, Report
from experiments.measures import EMBEDDING
from experiments.report import RATIO, Cell, Column, Figures, Row, Table

SUBJECT = workloads.subject(EMBEDDING)
THREADS = 12
#: MERCI's dblp (ferry-hhh/CXL-DMSim, eb1e21a, expected_result/merci_cxl): features, queries, rows a query.
ROWS, QUERIES, PER_QUERY = 418_769, 103_591, 57
#: Draws [%] by the exponential law of workloads/embedding, as for its size dblp.
EXPONENTIAL = 86
#: The testbed, where the pages are, its word for it, and what silicon took
#: (pudding-art/CXL-DMSim-Figs, 807c85c, MERCI/merci1009.py, delays_ms_12) [ms].
PLACES: Sequence[tuple[str, tuple[str, str], str, float]] = (
    ("8468v-asic", ("--membind", "dram"), "DDR-L", 35.9181),
    ("8468v-asic", ("--membind", "cxl"), "CXL-ASIC", 71.5609),
    ("8468v-asic", ("--interleave", "dram,cxl"), "half CXL-ASIC", 46.2586),
    ("8468v-remote", ("--membind", "remote"), "DDR-R", 45.41),
    ("8468v-remote", ("--interleave", "dram,remote"), "half DDR-R", 32.8975),
)
QUICK_PLACES = 2
#: Bytes of a row and of a line.
ROW, LINE = 256, 64


def queries_of(asked: Asked) -> int:
    """Queries of a thread."""
    return QUERIES // THREADS // (10 if asked.quick else 1)


def run(asked: Asked, machine: str, placement: tuple[str, str], name: str) -> tuple[float, float]:
    """Run all queries: the time of the slowest thread [ms], and loads from memory over lines of rows."""
    program = guests.build_workload(asked.folder, EMBEDDING.name)
    options = [*guests.options_of(machines.testbed(machine)), *placement]
    options += ["--cpus", str(THREADS), "--detail", "marker"]
    queries = queries_of(asked)
    given = map(str, (ROWS, queries, PER_QUERY, THREADS, 0, 0, EXPONENTIAL, 0, 1))
    said, result = guests.run_once(asked.folder, name.replace(" ", "-"), options, [program, *given])
    [took_us] = workloads.printed(EMBEDDING, said).slowest_thread
    lines = queries * THREADS * PER_QUERY * ROW / LINE
    return took_us / 1e3, sum(node.loads for node in result.nodes.values()) / lines


def measure(asked: Asked) -> Report:
    """All placements; quick: DDR-L and CXL-ASIC, of which only the ratio compares."""
    places = PLACES[: QUICK_PLACES if asked.quick else None]
    found = [run(asked, machine, placement, name) for machine, placement, name, _ in places]
    first, silicon = found[0][0], places[0][3]
    rows: list[Row] = []
    cells: list[list[Cell]] = []
    for place, ((*_, name, paper), (took, share)) in enumerate(zip(places, found, strict=True)):
        if not asked.quick:
            rows.append(Row(name, round(paper, 1), took, "ms"))
        if place > 0:
            rows.append(Row(f"{name} over DDR-L", round(paper / silicon, 2), took / first, RATIO))
        cells.append([name, took, took * 1e6 / queries_of(asked) / PER_QUERY, 100 * share])
    columns = [
        Column("pages on"),
        Column("time [ms]", "{:.1f}"),
        Column("a row [ns]", "{:.0f}"),
        Column("loads from memory [% of the rows' lines]", "{:.0f}"),
    ]
    figures = Figures("MERCI's whole run on 12 processors", rows)
    draw = partial(figure.bars, title="MERCI, 12 processors", y="as tabled", pairs=figures.pairs())
    notes = (
        ["quick: a tenth of the queries, so caches are colder than in silicon's run"] if asked.quick else []
    )
    return Report([figures, Table("what memory gave", columns, cells)], notes, figure=draw)
