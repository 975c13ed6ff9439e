"""Micron and AMD (Petrucci et al.), figure 6: TPC-H on one drive, with and without CXL memory.

One stream is DuckDB's, several are PostgreSQL's, with and without CXL memory. What stands for the testbed is
told in `experiments/capacity.py` and `experiments/streams.py`. The drive's bandwidth limits either.
"""

from __future__ import annotations

from experiments import streams, workloads
from experiments.capacity import Testbed
from experiments.experiment import Asked, Report
from experiments.measures import DUCKDB_TPCH_DRIVE, POSTGRESQL_TPCH

SUBJECT = workloads.subject(DUCKDB_TPCH_DRIVE, POSTGRESQL_TPCH)
MAKES = ("micron/fig6",)
TESTBED = Testbed(MAKES[0], ddr=768, drives=1, speed=70.0)


def measure(asked: Asked) -> Report:
    """One stream and eight, with DDR alone and with CXL memory too; quick: one stream."""
    one = TESTBED.measure(asked)
    if asked.quick:
        return one
    bed = streams.Bed(asked, TESTBED.drives)
    rows = streams.with_cxl(bed, TESTBED.ddr, 8, speed=500.0)
    return bed.report(MAKES[0], rows, beside=one)
