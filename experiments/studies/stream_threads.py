"""STREAM's triad on 1, 2 and 4 vCPUs, beside the bench's with as many threads, on equal terms.

Both run on the 8468V with its prefetchers off and with two slices of LLC for 52. So what is written leaves
the caches soon, even in a short run. The bench begins with full caches, and there it does so, too. Bandwidths
are counted as STREAM counts them. About two minutes on a quiet machine of two cores.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from cxlab import figure
from cxlab.asked_machine import AskedMachine
from cxlab.bench import sweep
from cxlab.bench.request import Placement, Workload
from cxlab.bench.result import counted
from cxlab.figure import Line

from experiments import guests, machines
from experiments.experiment import Asked, Report, real
from experiments.report import Column, Table

SUBJECT = real("stream_threads, a STREAM of the tests, on Linux in the guest, beside the bench's triad")
THREADS, QUICK_THREADS = (1, 2, 4), (1,)
#: Bytes of all three arrays, of all threads; no power of two, else the arrays meet in the same banks.
ARRAYS = 50_000_000


def in_guest(folder: Path, machine: AskedMachine, threads: int) -> float:
    """Threads of a real program, each on a vCPU of its own [MB/s]."""
    program = guests.build(folder, "stream_threads")
    options = [*guests.options_of(machine), "--membind", "dram", "--cpus", str(threads)]
    options += ["--detail", "marker"]
    said, _ = guests.run(folder, f"guest-{threads}", options, [program, str(threads), str(ARRAYS)])
    return float(said.split()[0])


def in_bench(machine: AskedMachine, threads: int) -> float:
    """Bandwidth of as many threads of the bench [MB/s]."""
    workload = Workload(machine, Placement((("dram", 1),)), threads)
    [point] = sweep.run([workload.job_of({"stream": {"kernel": "triad"}})], "bench")
    return counted(point.bandwidth_mb_s)


def measure(asked: Asked) -> Report:
    """The whole table; quick: one thread."""
    machine = machines.little_llc()
    rows = []
    for threads in QUICK_THREADS if asked.quick else THREADS:
        guest, bench = in_guest(asked.folder, machine, threads), in_bench(machine, threads)
        rows.append((threads, guest, bench, guest / bench - 1))
    columns = (
        Column("threads"),
        Column("guest [MB/s]", "{:,.0f}"),
        Column("bench [MB/s]", "{:,.0f}"),
        Column("difference", "{:.1%}"),
    )
    curves = [
        Line(name, [(row[0], row[place]) for row in rows]) for place, name in ((1, "guest"), (2, "bench"))
    ]
    draw = partial(figure.lines, title="STREAM triad", x="threads", y="bandwidth [MB/s]", curves=curves)
    return Report([Table("STREAM triad on 8468v-asic with little LLC", columns, rows, left=0)], figure=draw)
