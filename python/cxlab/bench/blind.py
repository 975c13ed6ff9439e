"""Blind predictions: curves of servers that nobody here has measured, written before anybody compares.

machine file (public facts) --bench, as Mess runs it--> NAME.csv: read_pct, bandwidth_GBps, latency_ns

Mess (Esmaili-Dokht et al., MICRO'24) has a pointer chase over a whole buffer on one core. All others make
sequential loads and ordinary stores of AVX-512 or AVX2. ``read_pct`` is the share of the lines read at the
memory; a store reads its line first, so 50 is stores alone. Bandwidth counts the lines read and written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cxlab import model
from cxlab.bench import sweep
from cxlab.bench.request import Mix, Placement, Workload
from cxlab.bench.result import counted
from cxlab.border import BenchJob, BenchPoint, Isa
from cxlab.output import write_csv

#: Lines read to lines written, for 100, 90, 80, 70, 60 and 50 % reads.
MIXES = (Mix(1, 0), Mix(9, 1), Mix(4, 1), Mix(7, 3), Mix(3, 2), Mix(1, 1))
#: Shares of the channels' peak that load threads ask for, between which a curve is a line; ``None``: all.
SHARES = (None, 0.8, 0.65, 0.4, 0.01)
#: Accesses between two delays.
BURST = 4
LINE_BYTES = 64
NODE = "dram"
COLUMNS = ("read_pct", "bandwidth_GBps", "latency_ns")


@dataclass(frozen=True)
class Prediction:
    """A machine and a kernel: one file."""

    name: str
    machine: str
    isa: Isa

    def jobs(self, mix: Mix) -> list[BenchJob]:
        """One mix, from the peak to idle: one thread for latency, load threads on all other cores."""
        described = model.describe(self.machine)
        host = described.host
        [peak] = [node.bandwidth_gb_s for node in described.nodes if node.name == NODE]
        threads = host.cores - 1
        placement = Placement(((NODE, 1),))
        workload = Workload(self.machine, placement, threads, mix, chase="buffer", isa=self.isa)
        # A store is an access that moves two lines.
        burst = BURST * LINE_BYTES / mix.read_share
        full = threads * burst * host.frequency_ghz / peak
        return [workload.job(0 if share is None else round(full / share)) for share in SHARES]


PREDICTIONS = (
    Prediction("8480-avx512", "8480", "avx512"),
    Prediction("8480-avx2", "8480", "avx2"),
    Prediction("8460y", "8460y", "avx512"),
    Prediction("7742", "7742", "avx2"),
    Prediction("5218", "5218", "avx512"),
)


def row(mix: Mix, point: BenchPoint) -> tuple[str, str, str]:
    """A line of a file."""
    bandwidth = counted(point.bandwidth_mb_s) / 1e3
    return f"{100 * mix.read_share:.0f}", f"{bandwidth:.2f}", f"{counted(point.latency_ns):.1f}"


def write(folder: Path) -> list[Path]:
    """Predict all curves, a file each; about a quarter of an hour on two quiet cores."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for prediction in PREDICTIONS:
        rows = []
        for mix in MIXES:
            points = sweep.run(prediction.jobs(mix), f"{prediction.name}, {mix}")
            rows += [row(mix, point) for point in points]
        files.append(folder / f"{prediction.name}.csv")
        write_csv(files[-1], COLUMNS, rows)
    return files
