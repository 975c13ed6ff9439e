"""EuroSys'24 (Tang et al.), figure 5a: a store under YCSB, interleaved over CXL memory or spilled to a drive.

Debian's Redis stands for KeyDB, whose seven threads each run Redis' event loop: one of them runs here. Each
record has 1 KB, and keys follow YCSB's Zipfian law. The machine has the paper's A1000 cards and SNC mode; the
paper has SNC off. Linux gives nobody huge pages, as in the paper (4.1.1). The text prints one range for all
interleavings and workloads: 1.2 to 1.5 times slower.

Workload rocksdb-ycsb makes the bars with a drive. It is a store in the design of KeyDB FLASH over RocksDB. It
is compared with itself without RocksDB. The text prints nearly 1.8 times slower for both bars. The paper does
not name its drive; the machine's is a PM983. The law of keys is scaled. Of 512 GB the cold fifth gets 3.2 %
of the lookups by Che's formula, of these 55 MB 2.9 %. With YCSB's own number of items it would be 12 %.

Hot-Promote is Redis with that law on Linux's own tiering. A reserve of hugetlb pages, which nobody uses,
leaves half of its pages no room in main memory. 105 MB stand for 512 GB. So Linux scans every 20 ms, not
1000, and a page is hot if it is touched within 20 ms, not 1000. Before the timed requests come 200,000, or
four passes of the scan. They take minutes, so `--quick` leaves it out.
"""

from __future__ import annotations

from functools import partial
from statistics import mean

from cxlab import figure
from cxlab.asked_machine import AskedMachine

from experiments import workloads
from experiments.experiment import Asked, Report
from experiments.measures import REDIS_YCSB, ROCKSDB_YCSB
from experiments.report import Figures, Row

SUBJECT = workloads.subject(REDIS_YCSB, ROCKSDB_YCSB)
MAKES = ("eurosys24/fig5",)
MACHINE = "spr-a1000"
#: Name of the paper -> share of pages on CXL memory [%].
INTERLEAVED = {"3:1": 25, "1:1": 50, "1:3": 75}
#: 1.5 and 1.2 times slower, as changes of throughput [%].
SLOWEST, FASTEST = 100 / 1.5 - 100, 100 / 1.2 - 100
#: Name of the paper -> share of the records that memory may not hold [%].
SPILLED = {"MMEM-SSD-0.2": 20, "MMEM-SSD-0.4": 40}
#: 1.8 times slower, as a change of throughput [%].
WITH_DRIVE = 100 / 1.8 - 100
#: "Nearly as well as running the workload entirely on MMEM" [%].
PROMOTED = 0.0
#: Main memory holds half of the store, and Linux promotes: a fiftieth of its usual times, 1000 ms both.
TIERING = ("--cxl", "device", "--memory", "dram=260M,cxl=256M", "--tiering", "20")
HALF = {"taken_mib": 96, "hot_ms": 20, "settled": 200000}
#: What does not fit main memory goes to the next node, which the other socket's memory would be.
TWO_NODES = AskedMachine(MACHINE, ('node_names=["dram", "cxl"]',))
#: As those of rocksdb-ycsb, with as many records.
LAW_ITEMS = 200000


def measure(asked: Asked) -> Report:
    """Each configuration of each workload; quick: fewer of both."""
    notes: list[str] = []
    rows = [
        *_interleaved(asked, ("c",) if asked.quick else ("c", "a", "b", "d"), notes),
        *_spilled(asked, ("c", "a") if asked.quick else ("c", "a", "b", "d"), notes),
    ]
    rows += [] if asked.quick else _promoted(asked, notes)
    notes += [workloads.QUICK_NOTE] if asked.quick else []
    table = Figures("EuroSys'24 figure 5a: throughput over all in main memory", rows, MAKES[0])
    draw = partial(
        figure.bars, title="YCSB, interleaved and spilled", y="over main memory [%]", pairs=table.pairs()
    )
    return Report([table], notes, draw)


def _interleaved(asked: Asked, names: tuple[str, ...], notes: list[str]) -> list[Row]:
    """Redis, each interleaving of each workload; quick: one of each."""
    rows = []
    for name in names:
        runs = workloads.Runs(asked, REDIS_YCSB, MACHINE, {"workload": name}, options=workloads.NO_HUGE_PAGES)
        alone = runs.measure(workloads.share(0)).throughput
        notes.append(f"YCSB-{name.upper()} on main memory: {mean(alone):,.0f} requests/s")
        for label, percent in list(INTERLEAVED.items())[2 if asked.quick else 0 :]:
            found = runs.measure(workloads.share(percent)).throughput
            what = f"YCSB-{name.upper()}, {label}"
            rows.append(workloads.row(what, SLOWEST, found, alone, paper_to=FASTEST, rank=f"YCSB-{name}"))
    return rows


def _spilled(asked: Asked, names: tuple[str, ...], notes: list[str]) -> list[Row]:
    """The store with a drive, each share of each workload."""
    rows = []
    for name in names:
        runs = workloads.Runs(
            asked, ROCKSDB_YCSB, MACHINE, {"workload": name}, options=workloads.NO_HUGE_PAGES
        )
        alone = runs.measure(workloads.share(0), flash=0).throughput
        what = f"YCSB-{name.upper()}"
        # What writing through costs, without a read of the drive.
        through = runs.measure(workloads.share(0)).throughput
        rows.append(workloads.row(f"{what}, MMEM with RocksDB", None, through, alone))
        for label, percent in SPILLED.items():
            found = runs.measure(workloads.share(0), spilled=percent)
            rows.append(
                workloads.row(f"{what}, {label}", WITH_DRIVE, found.throughput, alone, rank=f"YCSB-{name}")
            )
            reached = f"{mean(found.throughput):,.0f} of {mean(alone):,.0f} requests/s"
            notes.append(f"{what}, {label}: {mean(found.misses):.1f} % of lookups miss, {reached}")
    return rows


def _promoted(asked: Asked, notes: list[str]) -> list[Row]:
    """Redis with half of its pages on CXL memory, of which Linux promotes the hot ones."""
    runs = workloads.Runs(
        asked,
        REDIS_YCSB,
        TWO_NODES,
        {"workload": "c", "law_items": LAW_ITEMS},
        options=workloads.NO_HUGE_PAGES,
    )
    alone = runs.measure(workloads.share(0)).throughput
    found = runs.measure(TIERING, **HALF)
    notes.append(f"YCSB-C, Hot-Promote: {mean(found.away):.0f} % of Redis' pages on CXL memory at the end")
    return [workloads.row("YCSB-C, Hot-Promote", PROMOTED, found.throughput, alone, rank="YCSB-c")]
