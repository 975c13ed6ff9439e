"""TPC-H whose tables do not fit into memory, with and without CXL memory, as Micron and AMD measured it.

DuckDB stands for SQL Server, on one core. Its memory over the scale factor is the paper's. There a factor
of 3,000 has 768 GB on 64 GB modules or 1,152 GB on 96 GB modules. CXL memory adds a terabyte.
DuckDB's share of the drives' bandwidth is that of one of the paper's 128 cores. Pages are spread over both
memories by their capacity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean

from cxlab import figure, model
from cxlab.asked_machine import AskedMachine
from cxlab.workload.written import Ran

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.measures import DUCKDB_TPCH_DRIVE, DuckdbTpchDrive
from experiments.report import Figures

MACHINE = "9754-cz120"
#: The paper's scale factor, its CXL memory [GB], its drive [MB/s] and its cores.
SCALE, CXL, DRIVE, CORES = 3000, 1024, 8000, 128
#: Capacity that a weight of 1 stands for [GB].
UNIT = 128


@dataclass(frozen=True)
class Testbed:
    """A figure's testbed, and what its text prints for one stream: DDR and CXL memory over DDR [%]."""

    figure: str
    #: [GB]
    ddr: int
    drives: int
    speed: float
    transactions: float | None = None
    footprint: float | None = None

    def measure(self, asked: Asked) -> Report:
        """Speed, transactions of the drive and footprint; quick: some queries over small tables."""
        placements = self._placements()
        runs = workloads.Runs(asked, DUCKDB_TPCH_DRIVE, with_drives(self.drives))
        ddr, both = (runs.measure(options, memory=memory) for options, memory in placements.values())
        ran = {name: runs.models(options, memory=memory) for name, (options, memory) in placements.items()}
        # The sample's estimate: the guest's clock goes on at the pace of the last window, up to a tenth off.
        slow, fast = ([one.simulated_s for one in of] for of in ran.values())
        rows = [
            # Time of DDR alone over that of both is the speed of both over that of DDR alone.
            workloads.row("speed", self.speed, slow, fast),
            workloads.row("transactions of the drive", self.transactions, both.requests, ddr.requests),
            workloads.row("memory footprint", self.footprint, both.footprint, ddr.footprint),
        ]
        notes = [_note(name, found, of) for (name, of), found in zip(ran.items(), (ddr, both), strict=True)]
        notes += [workloads.QUICK_NOTE] if asked.quick else []
        number = self.figure.removeprefix("micron/fig")
        title = f"Micron, figure {number}: one stream of TPC-H, {self.ddr} GB of DDR, CXL memory over none"
        table = Figures(title, rows, self.figure)
        draw = partial(figure.bars, title="TPC-H, one stream", y="over DDR alone [%]", pairs=table.pairs())
        return Report([table], notes, draw)

    def _placements(self) -> dict[str, tuple[workloads.Options, int]]:
        """Where the pages are, and DuckDB's memory [MB for a scale factor of 1]."""
        alone, both = (round(1000 * memory / SCALE) for memory in (self.ddr, self.ddr + CXL))
        return {"DDR": (workloads.bound("dram"), alone), "DDR and CXL": (spread(self.ddr), both)}


def with_drives(drives: int) -> AskedMachine:
    """The testbed's machine, with a core's share of the bandwidth of so many drives."""
    return AskedMachine(MACHINE, (f"drive.link={drives * DRIVE / CORES:g} MB/s",))


def spread(ddr: int) -> workloads.Options:
    """Pages over so much DDR [GB] and the CXL memory, by their capacity."""
    return ("--weighted-interleave", f"dram={ddr // UNIT},cxl={CXL // UNIT}")


def _note(name: str, found: DuckdbTpchDrive, runs: Sequence[Ran]) -> str:
    """Where the time goes: a processor that does not wait executes its IPC at its frequency."""
    frequency = 1e9 * model.describe(MACHINE).host.frequency_ghz
    computing = mean(run.instructions / run.ipc / frequency for run in runs)
    whole = mean(run.simulated_s for run in runs)
    return (
        f"{name}: {1e3 * whole:.0f} ms, of which {1e3 * computing:.0f} ms compute and the rest waits "
        f"for the drive; it reads {mean(found.read):.1f} MB; footprint {mean(found.footprint):.1f} MB"
    )
