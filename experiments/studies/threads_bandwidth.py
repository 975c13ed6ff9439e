"""Read bandwidth of 1 to 32 threads of ``spr-a1000``, from local DDR5 and from a CXL memory card.

The machine is EuroSys'24's (Tang et al.), its loads as Intel MLC has them. Some threads read in order at
full speed. One thread chases at random, and tells how long a line takes. By Little's law, bandwidth x
latency / 64 B is how many lines are on their way. It is an upper bound: a chase finds no row open, a stream
does. Without prefetchers a thread cannot have more of them than it has fill buffers. The peaks of 16
threads are calibrated. All other rows are predictions.
Half a minute in all. `cxlab validate --reference FOLDER` compares whole curves of this machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from cxlab import figure, model
from cxlab.bench import sweep
from cxlab.bench.curves import CALIBRATING
from cxlab.bench.figures import shipped
from cxlab.bench.request import Placement, Workload
from cxlab.bench.result import counted, stages_ns
from cxlab.border import BenchPoint
from cxlab.description import Description
from cxlab.figure import Line

from experiments.experiment import Asked, Report, synthetic
from experiments.report import Column, Table

SUBJECT = synthetic("the bench's load threads and chase stand for Intel MLC")
MACHINE = "spr-a1000"
NODES = ("dram", "cxl")
THREADS, QUICK_THREADS = (1, 2, 4, 8, 12, 16, 24, 32), (1, 16)
#: of a line [B]
LINE = 64
#: (node, threads) -> bandwidth of silicon [GB/s]
Silicon = dict[tuple[str, int], float]


@dataclass(frozen=True)
class Reading:
    """So many threads on a node."""

    node: str
    threads: int
    point: BenchPoint

    @property
    def bandwidth(self) -> float:
        """Bandwidth of all threads together [GB/s]."""
        return counted(self.point.bandwidth_mb_s) / 1e3

    @property
    def latency(self) -> float:
        """Latency from a fill buffer taken to its line [ns]: the chase's, or of all loads without a chase."""
        return counted(self.point.latency_ns) - stages_ns(self.point, model.core_stages())

    @property
    def lines(self) -> float:
        """On their way, by Little's law."""
        return self.bandwidth * self.latency / LINE

    @property
    def role(self) -> str:
        """Whether it was calibrated on this figure of silicon."""
        fitted = CALIBRATING.get((self.node, self.threads, "1:0", "ordinary", "sequential"), set())
        return "calibrated" if "peak" in fitted else "predicted"


def read(node: str, prefetch: bool, counts: Sequence[int]) -> list[Reading]:
    """All threads on a node; the chase beside them where prefetchers are on."""
    placement = Placement(((node, 1),))
    workloads = [
        Workload(MACHINE, placement, threads, latency_thread=prefetch, prefetch=prefetch)
        for threads in counts
    ]
    points = sweep.run([workload.job(0) for workload in workloads], node)
    return [Reading(node, *pair) for pair in zip(counts, points, strict=True)]


def fill_buffers() -> int:
    """Number of a core's fill buffers, by the machine's host file."""
    return Description(model.describe(MACHINE).spec).count("host", "core", "fill_buffers")


def silicon() -> Silicon:
    """Peaks of sequential reads on silicon, from the shipped figures."""
    return {
        (figure.settings.node, figure.settings.threads): figure.low
        for figure in shipped()
        if figure.machine == MACHINE
        and figure.settings.metric == "bandwidth"
        and figure.settings.mix == "1:0"
    }


def with_prefetchers(readings: list[Reading], known: Silicon) -> Table:
    """Silicon, simulated, error; and the lines on their way."""
    columns = (
        Column("node"),
        Column("role"),
        Column("threads"),
        Column("silicon [GB/s]", "{:.1f}"),
        Column("simulated [GB/s]", "{:.1f}"),
        Column("error", "{:+.1%}"),
        Column("latency [ns]", "{:.0f}"),
        Column("lines a thread", "{:.0f}"),
    )
    rows = []
    for one in readings:
        paper = known.get((one.node, one.threads))
        error = None if paper is None else one.bandwidth / paper - 1
        figures = (one.threads, paper, one.bandwidth, error, one.latency, one.lines / one.threads)
        rows.append((one.node, one.role, *figures))
    return Table(f"{MACHINE}: all reads, in order, at full speed", columns, rows, left=2)


def without_prefetchers(readings: list[Reading], buffers: int) -> Table:
    """Bandwidth beside the law's bound."""
    columns = (
        Column("node"),
        Column("threads"),
        Column("simulated [GB/s]", "{:.1f}"),
        Column("bound [GB/s]", "{:.1f}"),
        Column("of the bound", "{:.0%}"),
        Column("latency [ns]", "{:.0f}"),
    )
    rows = []
    for one in readings:
        bound = one.threads * buffers * LINE / one.latency
        rows.append((one.node, one.threads, one.bandwidth, bound, one.bandwidth / bound, one.latency))
    title = f"prefetchers off: bandwidth <= threads x {buffers} fill buffers x {LINE} B / latency"
    return Table(title, columns, rows)


def measure(asked: Asked) -> Report:
    """Two tables."""
    known = silicon()
    counts = QUICK_THREADS if asked.quick else THREADS
    on, off = (
        [reading for node in NODES for reading in read(node, prefetch, counts)] for prefetch in (True, False)
    )
    lines = [
        Line(f"{node}, prefetchers {state}", [(r.threads, r.bandwidth) for r in group if r.node == node])
        for state, group in (("on", on), ("off", off))
        for node in NODES
    ]
    # Each point alone: a line between two would say what was not measured.
    lines += [
        Line(f"{node}, {threads} threads, silicon", [(threads, value)], dashed=True)
        for (node, threads), value in sorted(known.items())
        if node in NODES
    ]
    title = f"{MACHINE}: all reads"
    draw = partial(figure.lines, title=title, x="threads", y="bandwidth [GB/s]", curves=lines)
    return Report([with_prefetchers(on, known), without_prefetchers(off, fill_buffers())], figure=draw)
