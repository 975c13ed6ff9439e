"""Micron and AMD (Petrucci et al.), figure 9: TPC-H on eight drives, 96 GB modules.

One stream is DuckDB's, several are PostgreSQL's, with and without CXL memory. What stands for the testbed is
told in `experiments/capacity.py` and `experiments/streams.py`.
"""

from __future__ import annotations

from experiments import streams, workloads
from experiments.capacity import Testbed
from experiments.experiment import Asked, Report
from experiments.measures import DUCKDB_TPCH_DRIVE, POSTGRESQL_TPCH

SUBJECT = workloads.subject(DUCKDB_TPCH_DRIVE, POSTGRESQL_TPCH)
MAKES = ("micron/fig9",)
TESTBED = Testbed(MAKES[0], ddr=1152, drives=8, speed=19.0, transactions=-11.0)


def measure(asked: Asked) -> Report:
    """One stream, eight and twenty, with DDR alone and with CXL memory too; quick: one stream."""
    one = TESTBED.measure(asked)
    if asked.quick:
        return one
    bed = streams.Bed(asked, TESTBED.drives)
    rows = streams.with_cxl(bed, TESTBED.ddr, 8, speed=23.0, transactions=-70.0)
    rows += streams.with_cxl(bed, TESTBED.ddr, 20, speed=69.0, transactions=-83.0)
    return bed.report(MAKES[0], rows, beside=one)
