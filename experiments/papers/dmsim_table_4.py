"""CXL-DMSim (Hong et al.), table IV: embedding reduction on 12 and 48 cores, all of it on CXL-ASIC.

Table IV is of CXL-DMSim's own simulator, which loses half of the queries from 12 to 48 cores. Of its silicon
the paper prints the latency of L3 misses, 568 ns and 2.4 us, and that throughput falls. By Little's law these
latencies are 21.6 and 20.5 GB/s with 16 lines a core under way: 5 % less, not half.

The program is a real one, in guests of 12 and 48 vCPUs, sampled. Its table is 1 GiB, ten times the LLC. Both
guests do the same queries in all, as MERCI divides them among its cores. Its last barrier spins as MERCI's:
the turns of that loop are told beside the queries. Queries a second are all queries over the time between
barriers, as the windows tell it. A query gathers 80 rows, an assumption: only ratios of queries compare.

The curve over cores is of a stand-in, the bench's gathers: guests of more sizes would take an hour. It has
two depths of the FIFOs, table III's and CXL-DMSim's default, and prefetchers off and on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean as mean

from cxlab import figure
from cxlab.bench import sweep
from cxlab.bench.request import Placement, Workload
from cxlab.bench.result import counted, l3_miss_latency_ns
from cxlab.border import BenchPoint, RunResult
from cxlab.figure import Line
from cxlab.workload.written import Ran

from experiments import guests, machines, workloads
from experiments.experiment import Asked, Report
from experiments.measures import EMBEDDING
from experiments.report import POINTS, Cell, Column, Figures, Row, Table

SUBJECT = workloads.subject(EMBEDDING)
MAKES = ("dmsim/table4",)
FEW, MANY = 12, 48
MACHINE = "8468v-asic"
NODE = "cxl"
#: Rows of 256 bytes: 1 GiB, beside 97.5 MB of LLC. A subset has a quarter, and reads less than the LLC holds.
ROWS, QUICK_ROWS = 1 << 22, 1 << 20
PER_QUERY = 80
#: Queries of all threads together: a sample has 30 windows or nearly so.
QUERIES, QUICK_QUERIES = 12_000, 2_400
SEEDS = 3
SAMPLE, QUICK_SAMPLE = "detail=10us,warm=30us,every=200us", "detail=10us,warm=30us,every=100us"
#: Stages of a load in the device.
OF_THE_DEVICE = ("device_in", "device_queue", "media", "link_s2m")
#: Of the stand-in.
CORES = (1, 2, 4, 8, 12, 16, 24, 36, 48)
#: Depth of the response FIFO in table III, and CXL-DMSim's default.
DEPTHS = (52, 128)


@dataclass(frozen=True)
class Guest:
    """Sampled runs of the program on so many vCPUs, one a seed."""

    queries: int
    results: Sequence[RunResult]
    looks: Sequence[int]

    @property
    def queries_per_second(self) -> float:
        """Between the two barriers, as the windows tell it."""
        return mean(self.queries / result.simulated_seconds for result in self.results)

    @property
    def load_ns(self) -> float:
        """Mean time of all loads, as if those that the caches answer took none [ns]."""
        return mean(node_ns(result) / accesses(result) for result in self.results)

    @property
    def miss_ns(self) -> float:
        """Mean time of an L3 miss [ns]."""
        return mean(ran(result).miss_ns(NODE) for result in self.results)

    @property
    def device_ns(self) -> float:
        """Mean time of a load in the device [ns]."""
        stages = [result.nodes[NODE].stages_ns for result in self.results]
        return mean(sum(of.get(stage, 0.0) for stage in OF_THE_DEVICE) for of in stages)

    @property
    def in_l1(self) -> float:
        """Accesses that hit L1 [%]."""
        return mean(100 * result.core.l1_hits / accesses(result) for result in self.results)

    @property
    def looks_of_a_query(self) -> float:
        """Turns of the last barrier's loop, of all threads, for each query."""
        return mean(self.looks) / self.queries

    @property
    def windows(self) -> str:
        """Fewest and most windows of a run."""
        return guests.windows(self.results)


def accesses(result: RunResult) -> int:
    """Number of accesses of all cores."""
    core = result.core
    return core.l1_hits + core.l2_hits + core.llc_hits + core.llc_misses


def node_ns(result: RunResult) -> float:
    """Time of all loads from CXL memory [ns]."""
    node = result.nodes[NODE]
    return node.loads * counted(node.mean_load_latency_ns)


def ran(result: RunResult) -> Ran:
    """The result as that of a workload's run."""
    instructions = result.instructions.user + result.instructions.kernel
    return Ran(0, instructions, result.simulated_seconds, result.ipc, result.nodes)


def in_guest(asked: Asked, threads: int) -> Guest:
    """Run the program on so many vCPUs, a thread each."""
    rows, queries, seeds = (QUICK_ROWS, QUICK_QUERIES, 1) if asked.quick else (ROWS, QUERIES, SEEDS)
    program = guests.build_workload(asked.folder, EMBEDDING.name)
    sample = QUICK_SAMPLE if asked.quick else SAMPLE
    results, looks = [], []
    for seed in range(seeds):
        options = ["--machine", MACHINE, "--set", machines.NO_PREFETCH, "--membind", NODE]
        options += ["--detail", "marker"]
        options += ["--cpus", str(threads), "--sample", sample, "--sample-seed", str(seed)]
        given = [rows, queries // threads, PER_QUERY, threads, 0, 0, 0, 0, seed, "spin"]
        name = f"{threads}-{rows}-{queries}-{seed}"
        said, result = guests.run_once(asked.folder, name, options, [program, *map(str, given)])
        found = re.search(r"looks in the last barrier (\d+)", said)
        assert found is not None, said
        results.append(result)
        looks.append(int(found[1]))
    return Guest(queries, results, looks)


def table_iv(few: Guest, many: Guest) -> list[Row]:
    """48 cores beside 12: table IV's statistics by their plain names; silicon's latencies."""
    growths = (
        ("L3 miss, 48 over 12 (silicon)", 2400 / 568, many.miss_ns / few.miss_ns),
        ("L3 miss, 48 over 12 (table)", 1.2e6 / 1.3e5, many.miss_ns / few.miss_ns),
        ("load to use, 48 over 12 (table)", 198 / 97, many.load_ns / few.load_ns),
        ("queries/s, 48 over 12 (table)", 8.8e5 / 1.8e6, many.queries_per_second / few.queries_per_second),
    )
    return [
        Row("L3 miss, 12 cores (silicon)", 568.0, few.miss_ns, "ns"),
        Row("L3 miss, 48 cores (silicon)", 2400.0, many.miss_ns, "ns"),
        *(Row(what, round(paper, 2), simulated, "x") for what, paper, simulated in growths),
        Row("device's response, 12 (table)", 81.0, few.device_ns, "ns"),
        Row("device's response, 48 (table)", 81.0, many.device_ns, "ns"),
        Row("loads of 9 cycles at most, here L1 hits, 12 (table)", 63.6, few.in_l1, POINTS),
        Row("loads of 9 cycles at most, here L1 hits, 48 (table)", 94.8, many.in_l1, POINTS),
        Row("turns of the last barrier for each query, 12", None, few.looks_of_a_query, "turns"),
        Row("turns of the last barrier for each query, 48", None, many.looks_of_a_query, "turns"),
    ]


@dataclass(frozen=True)
class Curve:
    """The stand-in over numbers of cores."""

    what: str
    points: list[BenchPoint]


def queries(point: BenchPoint) -> float:
    """Queries a second, of all threads."""
    return counted(point.queries_per_second)


def stand_in(depth: int, prefetch: bool) -> Curve:
    """The bench's gathers, with FIFOs of this depth."""
    machine, placement = machines.response_fifo(depth), Placement(((NODE, 1),))
    asked = [Workload(machine, placement, count, prefetch=prefetch) for count in CORES]
    points = sweep.run([workload.job_of({"embedding": {}}) for workload in asked], str(placement))
    return Curve(f"FIFO of {depth}, prefetchers {'on' if prefetch else 'off'}", points)


def over_cores(curves: Sequence[Curve]) -> list[Table]:
    """Tables of queries a second and of L3 misses over cores."""
    columns = [Column(""), *(Column(str(cores), "{:.2f}") for cores in CORES)]
    rates: list[list[Cell]] = [[curve.what, *(queries(p) / 1e5 for p in curve.points)] for curve in curves]
    misses: list[list[Cell]] = [
        [curve.what, *(l3_miss_latency_ns(p) / 1e3 for p in curve.points)] for curve in curves
    ]
    return [
        Table("a stand-in, the bench's gathers: queries a second, in 10^5, over cores", columns, rates),
        Table("the stand-in's L3 misses, in us, over cores", columns, misses),
    ]


def measure(asked: Asked) -> Report:
    """Table IV from guests; not quick: the stand-in over cores, too."""
    few, many = in_guest(asked, FEW), in_guest(asked, MANY)
    tables: list[Table | Figures] = [
        Figures("CXL-DMSim table IV: a real program in the guest", table_iv(few, many), MAKES[0])
    ]
    notes = [
        f"{guest.queries_per_second:,.0f} queries/s on {threads} vCPUs, {guest.windows} windows a run"
        for threads, guest in ((FEW, few), (MANY, many))
    ]
    if asked.quick:
        return Report(tables, [*notes, workloads.QUICK_NOTE])
    curves = [stand_in(depth, prefetch) for depth in DEPTHS for prefetch in (False, True)]
    lines = [
        Line(curve.what, [(n, queries(p) / 1e5) for n, p in zip(CORES, curve.points, strict=True)])
        for curve in curves
    ]
    draw = partial(
        figure.lines,
        title="Embedding reduction on CXL-ASIC, the bench's gathers",
        x="cores",
        y="queries a second [10^5]",
        curves=lines,
    )
    return Report([*tables, *over_cores(curves)], notes, figure=draw)
