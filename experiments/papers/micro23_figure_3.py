"""MICRO'23 (Sun et al.), figure 3: a chase and memo's instructions on DDR5-R, CXL-A, CXL-B and CXL-C.

memo flushes, fences, and times 16 random accesses back to back, as the paper's artifact shows (ece-fast-
lab/cxl_type3_tests, memo_ae/src). It flushes the pages that are then accessed, so no page is
walked for in the time that counts. Each store has a clwb behind it, here ``st_wb``. cxlab-memo does
the same in a guest. The paper prints ratios, no nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import mean

from cxlab import figure
from cxlab.workload import repeats

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.measures import MEMO_INSTRUCTIONS, MEMO_LATENCY
from experiments.report import RATIO, Cell, Column, Figures, Row, Table

SUBJECT = workloads.subject(MEMO_LATENCY, MEMO_INSTRUCTIONS)
MAKES = ("micro23/fig3",)
#: memory -> machine, node
MEMORIES = {
    "DDR5-L": ("6430-cxl-a", "dram"),
    "DDR5-R": ("6430-cxl-a", "remote"),
    "CXL-A": ("6430-cxl-a", "cxl"),
    "CXL-B": ("6430-cxl-b", "cxl"),
    "CXL-C": ("6430-cxl-c", "cxl"),
}
QUICK_MEMORIES = ("DDR5-L", "DDR5-R", "CXL-A")
CHASE = "latency"
BARS = (CHASE, "ld", "nt_ld", "st", "st_wb", "nt_st")
#: memory -> what -> ns, a value a seed
Latencies = Mapping[str, Mapping[str, list[float]]]

#: What, over what, the paper's ratio, where it stands; section 4.1 and figure 3. Three calibrate the devices.
RATIOS = (
    (("DDR5-R", "ld"), ("DDR5-R", CHASE), 0.24, "O1"),
    (("CXL-A", "ld"), ("CXL-A", CHASE), 0.21, "O3"),
    (("CXL-A", "ld"), ("DDR5-R", "ld"), 1.35, "O2, calibrated"),
    (("CXL-B", "ld"), ("DDR5-R", "ld"), 2.0, "O2, calibrated"),
    (("CXL-C", "ld"), ("DDR5-R", "ld"), 3.0, "O2, calibrated"),
    (("CXL-C", "ld"), ("CXL-B", "ld"), 1.67, "O2"),
    (("DDR5-R", "st_wb"), ("DDR5-L", "ld"), 2.3, "O3"),
    (("CXL-A", "nt_st"), ("DDR5-R", "nt_st"), 0.75, "O3"),
)


def latencies(asked: Asked, memory: str) -> dict[str, list[float]]:
    """All bars of a memory."""
    machine, node = MEMORIES[memory]
    placed = workloads.bound(node)
    chase = workloads.Runs(asked, MEMO_LATENCY, machine).measure(placed)
    return {**chase, **workloads.Runs(asked, MEMO_INSTRUCTIONS, machine).measure(placed)}


def bars_table(found: Latencies) -> Table:
    """Nanoseconds: of a load of the chase, of a sixteenth of a batch."""
    columns = [Column("memory"), *(Column(what, "{:.1f}") for what in BARS)]
    rows: list[list[Cell]] = [[memory, *(mean(of[what]) for what in BARS)] for memory, of in found.items()]
    return Table("figure 3, simulated, in ns", columns, rows)


def ratios(found: Latencies) -> Figures:
    """Paper, simulated, error: of the memories that were measured."""
    rows = []
    for (memory, what), (other, its), paper, where in RATIOS:
        if memory not in found or other not in found:
            continue
        ratio = repeats.of_ratios(found[memory][what], found[other][its])
        name = f"{memory} {what} over {other} {its} ({where})"
        calibrated = "calibrated" in where
        rows.append(
            Row(name, paper, ratio.value, RATIO, calibrated=calibrated, low=ratio.low, high=ratio.high)
        )
    return Figures("MICRO'23, 4.1: ratios", rows, MAKES[0])


def measure(asked: Asked) -> Report:
    """Bars and ratios; quick: of three memories."""
    found = {memory: latencies(asked, memory) for memory in (QUICK_MEMORIES if asked.quick else MEMORIES)}
    table = ratios(found)
    draw = partial(figure.bars, title="MICRO'23 figure 3: ratios", y="ratio", pairs=table.pairs())
    notes = [workloads.QUICK_NOTE] if asked.quick else []
    return Report([bars_table(found), table], notes, draw)
