"""Caption in the guest: a real STREAM-like program, the kernel's weights, the simulated machine's counters.

Prints a static sweep of the share on CXL memory, a linear model fitted on it, and where Caption rests from
50 % in each mode, beside the best share of the sweep. About ten minutes on a quiet machine of two cores:
``.venv/bin/python -m experiments.caption_guest [FOLDER]``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from cxlab.caption.log import Held, held, read, resting
from cxlab.machine import artefacts

from experiments import slow_machine

ROOT = Path(__file__).resolve().parent.parent
#: Bytes of each of the three arrays: together above the caches of the machine, 5.75 MiB.
ARRAY = 3 << 20
#: Without end: the controller ends the program.
FOR_EVER = 1 << 40
#: Passes between two allocations, where the program allocates anew.
PASSES = 6
SWEEP = "0%,10%,20%,25%,30%,35%,40%,45%,50%,75%"
#: Resident pages follow, so a sample is of one share; those of the first samples are on their way.
REPLACED = ("--move-rate", "4GB/s", "--least-samples", "4", "--settling-samples", "2")
#: A sample holds some rounds of the program; the first two after a change still see pages of the old share.
ALLOCATED_ANEW = ("--interval", "20ms", "--least-samples", "4", "--settling-samples", "2")


def caption(folder: Path, name: str, passes: int, *options: str) -> Path:
    """One run of ``cxlab caption`` in a machine of its own: the controller's log."""
    machine, program = folder / "slow-dram.toml", folder / "caption_stream"
    out = folder / name
    command = [
        sys.executable,
        "-m",
        "cxlab",
        "caption",
        "--machine",
        str(machine),
        "--out",
        str(out),
        *options,
    ]
    subprocess.run(
        [*command, "--", str(program), str(ARRAY), str(passes)], check=True, stdout=subprocess.DEVNULL
    )
    return out / "caption.jsonl"


def show(rows: list[Held]) -> Held:
    """Print a sweep: the best row."""
    print("  on CXL  throughput [10^6/s]   IPC  L1 miss [ns]  DDR read [ns]  CXL read [ns]")
    for row in rows:
        latencies = f"{row.l1_miss_ns:14.0f}{row.ddr_read_ns:15.0f}{row.cxl_read_ns:15.0f}"
        print(f"  {row.share:6.1%}{row.throughput:21.1f}{row.ipc:6.2f}{latencies}")
    best = max(rows, key=lambda row: row.throughput)
    print(f"  best: {best.share:.1%}; by bandwidth alone {slow_machine.BEST_BY_BANDWIDTH:.1%}\n")
    return best


def compare(name: str, log: Path, best: Held, rows: list[Held]) -> None:
    """Print where a run rests, and what the sweep gave there."""
    share = resting(read(log))
    nearest = min(rows, key=lambda row: abs(row.share - share))
    away, kept = (share - best.share) * 100, nearest.throughput / best.throughput
    print(f"  {name:<44} rests at {share:6.1%}, {away:+5.1f} points, {kept:6.1%} of the best throughput")


def main() -> None:
    """The whole comparison."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="caption-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    slow_machine.write(folder)
    source = ROOT / "tests" / "programs" / "caption_stream.c"
    subprocess.run(["gcc", "-O2", "-o", folder / "caption_stream", source], check=True)

    print(f"Static sweep, pages re-placed (logs: {folder})")
    sweep = caption(folder, "sweep", FOR_EVER, "--mode", "sweep", "--shares", SWEEP, *REPLACED)
    rows = held(read(sweep))
    best = show(rows)

    model = folder / "model.json"
    subprocess.run([artefacts.CAPTION, "fit", sweep, "--output", model], check=True)

    print("\nCaption from 50 %, against the sweep")
    start = ("--start", "50%")
    search = (*start, "--most-samples", "100")
    adaptive = caption(folder, "adaptive", FOR_EVER, *search, *REPLACED)
    compare("adaptive, climbs the throughput, re-placed", adaptive, best, rows)
    fitted = caption(folder, "fitted", FOR_EVER, "--model", str(model), *search, *REPLACED)
    compare("adaptive, climbs the fitted model, re-placed", fitted, best, rows)
    anew = caption(folder, "anew", PASSES, *start, "--most-samples", "90", *ALLOCATED_ANEW)
    compare("adaptive, climbs the throughput, allocates", anew, best, rows)
    paper_fitted = caption(
        folder, "paper-fitted", FOR_EVER, "--mode", "paper", "--model", str(model), *search, *REPLACED
    )
    compare("published rules, fitted model, re-placed", paper_fitted, best, rows)
    paper = caption(folder, "paper", FOR_EVER, "--mode", "paper", *search, *REPLACED)
    compare("published rules and model, re-placed", paper, best, rows)


if __name__ == "__main__":
    main()
