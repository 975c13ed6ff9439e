"""Streams of TPC-H's queries in too little memory for all, as Micron and AMD measured them.

::

    paper   a stream with all the memory it takes: 1,090 GB   =   tables 996   +   work 94
    here    the same stream's tables (measured)     <──────────────── 996

PostgreSQL stands for SQL Server, and `workloads/postgresql-tpch/memory.py` for its pool. All streams share
one processor, as they share the paper's 128 cores. It has a core's share of the drives' bandwidth. Pages are
spread over both memories by their capacity.

One of PostgreSQL's streams runs first, with ample memory. What it then has of the tables stands for what
SQL Server's has. So the memories are to the tables as on silicon. The two figures of the paper that set
this are 42 % and 128 % of footprint (figure 7c). They are inputs here, and no row of PostgreSQL's compares
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from statistics import mean

from cxlab import figure

from experiments import capacity, workloads
from experiments.capacity import Testbed
from experiments.experiment import Asked, Report, Shown
from experiments.measures import DUCKDB_TPCH_DRIVE, POSTGRESQL_TPCH, PostgresqlTpch
from experiments.report import Figures, Row

SUBJECT = workloads.subject(POSTGRESQL_TPCH)
#: Of figures that have one stream, too.
SUBJECT_BESIDE_ONE = workloads.subject(DUCKDB_TPCH_DRIVE, POSTGRESQL_TPCH)
#: Footprint of one stream with CXL memory, and of eight, over one's of 768 GB (figure 7c) [GB].
OF_ONE, OF_EIGHT = 1.42 * 768, 2.28 * 768
#: What a stream sets aside for itself, and the tables that all of them share [GB].
WORK = (OF_EIGHT - OF_ONE) / 7
TABLES = OF_ONE - WORK
#: Memory in which a stream finds all that it wants, and its work [kB].
AMPLE, AMPLE_WORK = 64_000, 2_000
SIZE = "streams"
#: A subset's row stands beside the paper's number for twice as many streams.
HALF_NOTE = "half as many streams as the paper's, on each side"


@dataclass(frozen=True)
class Server:
    """A memory of the paper: modules [GB], and whether CXL memory is beside them."""

    ddr: int
    cxl: bool = False

    @property
    def name(self) -> str:
        """For rows: the size of its twelve modules."""
        return f"{self.ddr // 12} GB modules{' and CXL' if self.cxl else ''}"

    @property
    def capacity(self) -> int:
        """Add both memories [GB]."""
        return self.ddr + (capacity.CXL if self.cxl else 0)

    @property
    def placement(self) -> workloads.Options:
        """Where the pages are."""
        return capacity.spread(self.ddr) if self.cxl else workloads.bound("dram")


@dataclass(frozen=True)
class Gain:
    """The paper's numbers for some streams: DDR and CXL memory over DDR [%]."""

    speed: float
    transactions: float | None = None


@dataclass(frozen=True)
class Measured:
    """Streams on a server, a value for each seed."""

    streams: int
    #: [s], as the sample's windows estimate them: the guest's clock goes on at the pace of the last one
    seconds: Sequence[float]
    measures: PostgresqlTpch

    @property
    def rate(self) -> Sequence[float]:
        """Streams a second."""
        return [self.streams / seconds for seconds in self.seconds]

    def note(self, server: Server) -> str:
        """Say what the streams did."""
        return (
            f"{self.streams} streams, {server.name}: {1e3 * mean(self.seconds):.0f} ms; "
            f"{mean(self.measures.read):.0f} MB read in {mean(self.measures.requests):.0f} requests; "
            f"{mean(self.measures.held):.1f} MB of tables in memory"
        )


@dataclass(frozen=True)
class Bed:
    """The paper's testbed with so many drives, in an experiment."""

    asked: Asked
    drives: int
    notes: list[str] = field(default_factory=list)

    def run(self, server: Server, streams: int) -> Measured:
        """Run so many streams on a server, in a subset half as many, and note what they did."""
        streams = streams // 2 if self.asked.quick else streams
        memory, work = (round(gigabytes * self._kilobytes) for gigabytes in (server.capacity, WORK))
        values = {"streams": streams, "memory": memory, "work": work}
        seconds = [one.simulated_s for one in self._runs.models(server.placement, **values)]
        found = Measured(streams, seconds, self._runs.measure(server.placement, **values))
        self.notes.append(found.note(server))
        return found

    def report(self, figure_id: str, rows: Sequence[Row], beside: Report | None = None) -> Report:
        """The rows and what each run did, beside what another program has of the same figure."""
        number = figure_id.removeprefix("micron/fig")
        table = Figures(f"Micron, figure {number}: several streams of TPC-H (PostgreSQL)", rows, figure_id)
        notes = [*self.notes, HALF_NOTE, workloads.QUICK_NOTE] if self.asked.quick else self.notes
        tables: list[Shown] = [table]
        if beside is not None:
            tables, notes = [*beside.tables, table], [*beside.notes, *notes]
        pairs = [pair for one in tables if isinstance(one, Figures) for pair in one.pairs()]
        draw = partial(figure.bars, title="Streams of TPC-H", y="change [%]", pairs=pairs)
        return Report(tables, notes, draw)

    @cached_property
    def _runs(self) -> workloads.Runs[PostgresqlTpch]:
        machine = capacity.with_drives(self.drives)
        return workloads.Runs(self.asked, POSTGRESQL_TPCH, machine, size=SIZE)

    @cached_property
    def _kilobytes(self) -> float:
        """A gigabyte of the paper as it is here [kB]."""
        ample = self._runs.measure(workloads.bound("dram"), streams=1, memory=AMPLE, work=AMPLE_WORK)
        return 1e3 * mean(ample.held) / TABLES


def over(what: str, paper: float | None, new: Measured, old: Measured) -> Row:
    """How many more streams a second [%]."""
    return workloads.row(what, paper, new.rate, old.rate)


def in_order(memory: str, fastest_first: Sequence[Measured]) -> list[Row]:
    """Streams a second over those of the last run, where the paper's words give the order only."""
    last = fastest_first[-1]
    return [
        replace(over(f"{memory}, {one.streams} streams", None, one, last), rank=memory, place=place)
        for place, one in enumerate(fastest_first, start=1)
    ]


def with_cxl(bed: Bed, ddr: int, streams: int, gain: Gain) -> list[Row]:
    """Changes by CXL memory beside the modules: speed and the drives' transactions [%]."""
    alone, both = (bed.run(Server(ddr, cxl), streams) for cxl in (False, True))
    rows = [over(f"speed, {streams} streams", gain.speed, both, alone)]
    if gain.transactions is not None:
        requests = both.measures.requests, alone.measures.requests
        rows.append(workloads.row(f"transactions, {streams} streams", gain.transactions, *requests))
    return rows


def beside_one(testbed: Testbed, asked: Asked, gains: Mapping[int, Gain]) -> Report:
    """One stream of DuckDB, and by their number several of PostgreSQL; quick: one stream."""
    one = testbed.measure(asked)
    if asked.quick:
        return one
    bed = Bed(asked, testbed.drives)
    rows = [row for streams, gain in gains.items() for row in with_cxl(bed, testbed.ddr, streams, gain)]
    return bed.report(testbed.figure, rows, beside=one)
