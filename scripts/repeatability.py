"""``make repeat-test``: one run, many times, while other programs load the host, gives the same bits.

::

    no load:  run run run ...    two busy loops:  run run ...    eight busy loops:  run run ...
              one and the same output, simulated time and statistics

Each run starts Linux from the saved boot, with one processor and with four. Twenty minutes on two processors.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Busy loops beside the runs.
LOADS = (0, 2, 8)
#: Several processes and pipes, in a few million instructions.
PROGRAM = ("sh", "-c", "seq 300 | sort -r | sort -n | md5sum")
BUSY = (sys.executable, "-c", "while True: pass")


@contextmanager
def loaded(loops: int) -> Iterator[None]:
    """So many busy loops."""
    running = [subprocess.Popen(BUSY) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in running:
            loop.kill()
            loop.wait()


def run(folder: Path, cpus: int) -> str:
    """A digest of what one run prints, and of all of its statistics."""
    command = [sys.executable, "-m", "cxlab", "run", "--cpus", str(cpus), "--out", "out", "--overwrite"]
    done = subprocess.run([*command, "--", *PROGRAM], cwd=folder, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"repeat-test: exit status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    statistics = (folder / "out" / "statistics.json").read_bytes()
    return hashlib.sha256(done.stdout + statistics).hexdigest()[:12]


def main() -> int:
    """Print a line for each load; the status is 1 if two runs differ."""
    parser = argparse.ArgumentParser(description="Repeat one run under loads, compare all that it leaves.")
    parser.add_argument("--count", type=int, default=20, help="runs at each load; default: 20")
    count: int = parser.parse_args().count
    found: dict[int, Counter[str]] = {1: Counter(), 4: Counter()}
    with tempfile.TemporaryDirectory() as folder:
        for cpus, digests in found.items():
            for loops in LOADS:
                with loaded(loops):
                    here = Counter(run(Path(folder), cpus) for _ in range(count))
                digests += here
                same = max(here.values())
                print(f"{cpus} vCPUs, {loops} busy loops: {same} of {count} runs are the same", flush=True)
    differ = [cpus for cpus, digests in found.items() if len(digests) != 1]
    for cpus in differ:
        print(f"repeat-test: {cpus} vCPUs: runs differ: {dict(found[cpus])}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
