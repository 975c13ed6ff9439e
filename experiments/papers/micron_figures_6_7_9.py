"""Micron and AMD (Petrucci et al.), figures 6, 7 and 9: one stream of TPC-H whose tables do not fit into memory.

DuckDB stands for SQL Server, on one core. Its memory over the scale factor is the paper's: 768 GB of 64 GB
modules for a factor of 3,000, 1,152 GB of 96 GB modules, and a terabyte of CXL memory more. Its share of the
drives' bandwidth is the paper's for one of 128 cores. Pages are spread over both memories by their capacity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import mean

from cxlab import figure
from cxlab.asked_machine import AskedMachine

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.measures import DUCKDB_TPCH_DRIVE, DuckdbTpchDrive
from experiments.report import Figures, Row

SUBJECT = workloads.subject(DUCKDB_TPCH_DRIVE)
MAKES = ("micron/fig6", "micron/fig7", "micron/fig9")
#: The paper's scale factor, its CXL memory [GB], its drive [MB/s] and its cores.
SCALE, CXL, DRIVE, CORES = 3000, 1024, 8000, 128


@dataclass(frozen=True)
class Setup:
    """A figure's testbed, and what its text prints for one stream: DDR and CXL over DDR [%]."""

    figure: str
    #: [GB]
    ddr: int
    drives: int
    speed: float
    transactions: float | None = None
    footprint: float | None = None

    @property
    def name(self) -> str:
        """The testbed in a few words."""
        return f"{self.ddr} GB of DDR, {self.drives} {'drive' if self.drives == 1 else 'drives'}"

    def runs(self, asked: Asked) -> tuple[DuckdbTpchDrive, DuckdbTpchDrive]:
        """Measures with DDR alone, and with CXL memory too."""
        link = f"drive.link={self.drives * DRIVE / CORES:g} MB/s"
        runs = workloads.Runs(asked, DUCKDB_TPCH_DRIVE, AskedMachine("9754-cz120", (link,)))
        spread = ("--weighted-interleave", f"dram={self.ddr // 128},cxl={CXL // 128}")
        alone, both = (round(1000 * memory / SCALE) for memory in (self.ddr, self.ddr + CXL))
        return runs.measure(workloads.bound("dram"), memory=alone), runs.measure(spread, memory=both)


SETUPS = (
    Setup("micron/fig6", 768, 1, 70.0),
    Setup("micron/fig7", 768, 8, 23.0, -44.0, 42.0),
    Setup("micron/fig9", 1152, 8, 19.0, -11.0),
)


def measure(asked: Asked) -> Report:
    """Each testbed with DDR alone and with CXL memory too; quick: some queries over small tables."""
    tables, notes = [], []
    for setup in SETUPS:
        ddr, both = setup.runs(asked)
        # Time of DDR alone over that of both is the speed of both over that of DDR alone.
        rows: list[Row] = [workloads.row("speed", setup.speed, ddr.total, both.total, rank=setup.figure)]
        for what, paper, new, old in (
            ("transactions of the drive", setup.transactions, both.requests, ddr.requests),
            ("memory footprint", setup.footprint, both.footprint, ddr.footprint),
        ):
            rows.append(workloads.row(what, paper, new, old))
        title = f"Micron, figure {setup.figure[-1]}: one stream, DDR and CXL over DDR; {setup.name}"
        tables.append(Figures(title, rows, setup.figure))
        notes.append(
            f"{setup.name}: "
            + "; ".join(
                f"{name}: {mean(one.total):.0f} ms, of which {mean(one.waiting):.0f} % waits for the drive, "
                f"which reads {mean(one.read):.0f} MB"
                for name, one in (("DDR", ddr), ("DDR and CXL", both))
            )
        )
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    draw = partial(
        figure.bars,
        title="TPC-H, one stream",
        y="over DDR alone [%]",
        pairs=[pair for table in tables for pair in table.pairs()],
    )
    return Report(tables, notes, draw)
