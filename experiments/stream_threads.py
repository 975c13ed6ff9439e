"""STREAM's triad on 1, 2 and 4 vCPUs, beside the bench's with as many threads, on equal terms.

Both on the 8468V, whose prefetchers are off, with two slices of LLC for 52, so that what is written leaves
the caches soon in a short run, as it does in the bench, which begins with full ones. Prints MB/s as STREAM
counts. About two minutes on a quiet machine of two cores:
``.venv/bin/python -m experiments.stream_threads``.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from cxlab.bench import sweep
from cxlab.bench.request import Placement, Workload

ROOT = Path(__file__).resolve().parent.parent
THREADS = (1, 2, 4)
#: Bytes of all three arrays, of all threads; no power of two, else the arrays meet in the same banks.
ARRAYS = 50_000_000


def write_machine(folder: Path) -> Path:
    """Write 8468v-asic nearly without LLC into ``folder``: its file."""
    host = (ROOT / "data" / "hosts" / "xeon-8468v.toml").read_text()
    machine = (ROOT / "data" / "machines" / "8468v-asic.toml").read_text()
    host, count = re.subn(r"^(slices = \{ value = )\d+", r"\g<1>2", host, flags=re.MULTILINE)
    assert count == 1, f"the host has {count} lines for slices"
    (folder / "host.toml").write_text(host)
    path = folder / "little-llc.toml"
    path.write_text(machine.replace('host = "xeon-8468v"', 'host = "host.toml"'))
    return path


def in_guest(folder: Path, machine: Path, threads: int) -> float:
    """Threads of a real program, each on a vCPU of its own [MB/s]."""
    program = folder / "stream_threads"
    source = ROOT / "tests" / "programs" / "stream_threads.c"
    subprocess.run(["gcc", "-O2", "-pthread", "-o", program, source], check=True)
    options = ["--machine", str(machine), "--membind", "dram", "--cpus", str(threads), "--detail", "marker"]
    command = [sys.executable, "-m", "cxlab", "run", *options, "--out", str(folder / f"guest-{threads}")]
    done = subprocess.run(
        [*command, "--", str(program), str(threads), str(ARRAYS)], check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(done.stderr)
    return float(done.stdout.split()[0])


def in_bench(machine: Path, threads: int) -> float:
    """As many of the bench's threads [MB/s]."""
    workload = Workload(str(machine), Placement((("dram", 1),)), threads)
    [point] = sweep.run([workload.job_of({"stream": {"kernel": "triad"}})], "bench")
    return float(point["bandwidth_mb_s"])


def main() -> None:
    """The whole table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        machine = write_machine(folder)
        print("  threads   guest [MB/s]   bench [MB/s]   difference")
        for threads in THREADS:
            guest, bench = in_guest(folder, machine, threads), in_bench(machine, threads)
            print(f"  {threads:7}{guest:15,.0f}{bench:15,.0f}{guest / bench - 1:13.1%}", flush=True)


if __name__ == "__main__":
    main()
