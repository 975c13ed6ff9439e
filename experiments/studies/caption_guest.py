"""Caption in the guest: a real STREAM-like program, the kernel's weights, the simulated machine's counters.

Prints a static sweep of the share on CXL memory, and a linear model fitted on it. Beside the best share of
the sweep it prints where Caption rests from 50 % in each mode. About ten minutes on a quiet machine of two
cores.
"""

from __future__ import annotations

from pathlib import Path

from cxlab.caption.log import Held, held, read, resting
from cxlab.run.guest import artefacts

from experiments import guests, machines
from experiments.experiment import Asked, Report, real
from experiments.report import Column, Table

SUBJECT = real("caption_stream, a STREAM-like program of the tests, on Linux in the guest")
#: Bytes of each of the three arrays: together above the caches of the machine, 5.75 MiB.
ARRAY = 3 << 20
#: Without end: the controller ends the program.
FOR_EVER = 1 << 40
#: Passes between two allocations, where the program allocates anew.
PASSES = 6
SWEEP, QUICK_SWEEP = "0%,10%,20%,25%,30%,35%,40%,45%,50%,75%", "0%,30%,50%"
#: Samples of a search, and of one whose program allocates anew.
SAMPLES, QUICK_SAMPLES = (100, 90), (12, 12)
#: Pages move to the new share during the first samples after a change. Later samples see one share only.
REPLACED = ("--move-rate", "4GB/s", "--least-samples", "4", "--settling-samples", "2")
#: A sample holds some rounds of the program; the first two after a change still see pages of the old share.
ALLOCATED_ANEW = ("--interval", "20ms", "--least-samples", "4", "--settling-samples", "2")


COLUMNS = (
    Column("on CXL", "{:.1%}"),
    Column("throughput [10^6/s]", "{:.1f}"),
    Column("IPC", "{:.2f}"),
    Column("L1 miss [ns]", "{:.0f}"),
    Column("DDR read [ns]", "{:.0f}"),
    Column("CXL read [ns]", "{:.0f}"),
)


def caption(folder: Path, name: str, passes: int, *options: str) -> Path:
    """One run of ``cxlab caption`` in a machine of its own: the controller's log."""
    machine, program = folder / "slow-dram.toml", guests.build(folder, "caption_stream")
    out = folder / name
    given: list[str | Path] = ["--machine", machine, "--out", out, *options, "--", program]
    guests.cxlab("caption", *given, str(ARRAY), str(passes))
    return out / "caption.jsonl"


def swept(rows: list[Held]) -> Table:
    """A row a share."""
    cells = [
        (row.share, row.throughput, row.ipc, row.l1_miss_ns, row.ddr_read_ns, row.cxl_read_ns) for row in rows
    ]
    return Table("static sweep, pages re-placed", COLUMNS, cells, left=0)


def compared(name: str, log: Path, best: Held, rows: list[Held]) -> tuple[str, float, float, float]:
    """The share at which a run rests, its distance from the best one, and the throughput there."""
    share = resting(read(log))
    nearest = min(rows, key=lambda row: abs(row.share - share))
    return name, share, (share - best.share) * 100, nearest.throughput / best.throughput


def measure(asked: Asked) -> Report:
    """The sweep, then Caption in each mode; quick: the first mode alone."""
    folder = asked.folder
    machines.slow_dram(folder)
    most, most_anew = map(str, QUICK_SAMPLES if asked.quick else SAMPLES)
    shares = QUICK_SWEEP if asked.quick else SWEEP
    sweep = caption(folder, "sweep", FOR_EVER, "--mode", "sweep", "--shares", shares, *REPLACED)
    rows = held(read(sweep))
    best = max(rows, key=lambda row: row.throughput)
    model = folder / "model.json"
    if not asked.quick:
        guests.run_tool(artefacts.CAPTION, "fit", sweep, "--output", model)
    start = ("--start", "50%")
    search = (*start, "--most-samples", most, *REPLACED)
    fitted, paper = ("--model", str(model)), ("--mode", "paper")
    anew = (*start, "--most-samples", most_anew, *ALLOCATED_ANEW)
    #: title -> folder, passes, options
    runs: dict[str, tuple[str, int, tuple[str, ...]]] = {
        "adaptive, climbs the throughput, re-placed": ("adaptive", FOR_EVER, search),
        "adaptive, climbs the fitted model, re-placed": ("fitted", FOR_EVER, (*fitted, *search)),
        "adaptive, climbs the throughput, allocates": ("anew", PASSES, anew),
        "published rules, fitted model, re-placed": (
            "paper-fitted",
            FOR_EVER,
            (*paper, *fitted, *search),
        ),
        "published rules and model, re-placed": ("paper", FOR_EVER, (*paper, *search)),
    }
    rests = [
        compared(title, caption(folder, name, passes, *options), best, rows)
        for title, (name, passes, options) in list(runs.items())[: 1 if asked.quick else None]
    ]
    columns = (
        Column("Caption from 50 %"),
        Column("rests at", "{:.1%}"),
        Column("from the best [points]", "{:+.1f}"),
        Column("of the best throughput", "{:.1%}"),
    )
    note = f"best of the sweep: {best.share:.1%}; by bandwidth alone {machines.BEST_BY_BANDWIDTH:.1%}"
    return Report([swept(rows), Table("Caption against the sweep", columns, rests)], [note])
