"""CXL-DMSim (Hong et al.), table IV: embedding reduction on 1 to 48 cores, where it waits.

Table IV is of CXL-DMSim's own simulator, which loses half of the queries from 12 to 48 cores. Of its silicon
the paper prints the latency of L3 misses, 568 ns and 2.4 us, and that throughput falls. By Little's law these
latencies are 21.6 and 20.5 GB/s with 16 lines a core under way: 5 % less, not half. The curve over cores is
here for two depths of the FIFOs, table III's and CXL-DMSim's default, with prefetchers off and on. Queries
are as long as this bench's: only their ratios compare.
Half a minute in all; quick: two numbers of cores, one depth, prefetchers off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from cxlab import figure
from cxlab.bench import sweep
from cxlab.bench.request import Placement, Workload
from cxlab.bench.result import counted, l3_miss_latency_ns, stages_ns
from cxlab.border import BenchPoint
from cxlab.figure import Line

from experiments import machines
from experiments.experiment import Asked, Report, synthetic
from experiments.report import Cell, Column, Figures, Row, Table

SUBJECT = synthetic("the bench's gathers stand for MERCI's embedding reduction")
MAKES = ("dmsim/table4",)
CORES, QUICK_CORES = (1, 2, 4, 8, 12, 16, 24, 36, 48), (12, 48)
FEW, MANY = 12, 48
#: Depth of the response FIFO in table III, and CXL-DMSim's default.
DEPTHS = (52, 128)
CXL = Placement((("cxl", 1),))
#: Stages of a load in the device.
OF_THE_DEVICE = ("device_in", "device_queue", "media", "link_s2m")


@dataclass(frozen=True)
class Curve:
    """Points over numbers of cores."""

    what: str
    cores: Sequence[int]
    points: list[BenchPoint]

    def at(self, cores: int) -> BenchPoint:
        """The point with so many cores."""
        return self.points[self.cores.index(cores)]


def run(machine: str, placement: Placement, prefetch: bool, cores: Sequence[int]) -> list[BenchPoint]:
    """Embedding reduction on so many cores."""
    workloads = [Workload(machine, placement, count, prefetch=prefetch) for count in cores]
    return sweep.run([workload.job_of({"embedding": {}}) for workload in workloads], str(placement))


def queries(point: BenchPoint) -> float:
    """Queries a second, of all threads."""
    return counted(point.queries_per_second)


def table_iv(curve: Curve) -> list[Row]:
    """48 cores over 12: table IV's statistics by their plain names; silicon's latencies."""
    few, many = curve.at(FEW), curve.at(MANY)
    misses = l3_miss_latency_ns(few), l3_miss_latency_ns(many)

    def of_the_device(point: BenchPoint) -> float:
        return stages_ns(point, OF_THE_DEVICE)

    growths = (
        ("L3 miss, 48 over 12 (silicon)", 2400 / 568, misses[1] / misses[0]),
        ("L3 miss, 48 over 12 (table)", 1.2e6 / 1.3e5, misses[1] / misses[0]),
        ("load to use, 48 over 12 (table)", 198 / 97, counted(many.latency_ns) / counted(few.latency_ns)),
        ("queries/s, 48 over 12 (table)", 8.8e5 / 1.8e6, queries(many) / queries(few)),
    )
    return [
        Row("L3 miss, 12 cores (silicon)", 568.0, misses[0], "ns"),
        Row("L3 miss, 48 cores (silicon)", 2400.0, misses[1], "ns"),
        *(Row(what, round(paper, 2), simulated, "x") for what, paper, simulated in growths),
        Row("device's response, 12 (table)", 81.0, of_the_device(few), "ns"),
        Row("device's response, 48 (table)", 81.0, of_the_device(many), "ns"),
    ]


def over_cores(curves: Sequence[Curve]) -> Table:
    """Table of queries a second over cores."""
    columns = [Column(""), *(Column(str(cores), "{:.2f}") for cores in curves[0].cores)]
    rows: list[list[Cell]] = [[curve.what, *(queries(p) / 1e5 for p in curve.points)] for curve in curves]
    return Table("queries a second, in 10^5, over cores, all on CXL-ASIC", columns, rows)


def measure(asked: Asked) -> Report:
    """The curves, then table IV for each."""
    cores, depths = (QUICK_CORES, DEPTHS[:1]) if asked.quick else (CORES, DEPTHS)
    cases = [(depth, on) for depth in depths for on in ((False,) if asked.quick else (False, True))]
    files = {depth: machines.response_fifo(depth) for depth in depths}
    curves = [
        Curve(
            f"FIFO of {depth}, prefetchers {'on' if prefetch else 'off'}",
            cores,
            run(files[depth], CXL, prefetch, cores),
        )
        for depth, prefetch in cases
    ]
    tables = [
        Figures(f"CXL-DMSim table IV, {curve.what}", table_iv(curve), "dmsim/table4") for curve in curves
    ]
    lines = [
        Line(
            curve.what,
            [(n, queries(p) / 1e5) for n, p in zip(curve.cores, curve.points, strict=True)],
        )
        for curve in curves
    ]
    draw = partial(
        figure.lines,
        title="Embedding reduction on CXL-ASIC",
        x="cores",
        y="queries a second [10^5]",
        curves=lines,
    )
    return Report([over_cores(curves), *tables], figure=draw)
