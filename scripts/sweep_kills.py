"""``make sweep-kill-test``: a sweep of replays, killed at random, ends with an undisturbed one's files.

::

    sweep --SIGKILL--> sweep --SIGKILL--> ... sweep, to its end     every byte
    sweep, one process, to its end                                  the same

- A finished run is never executed again: its file keeps its inode and its time.
- No process outlives a killed sweep.

The full size takes about ten minutes on two processors. The tests have a small number of each.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

#: A short one: 14,000 instructions.
TRACE = Path(__file__).parents[1] / "tests" / "golden" / "traces" / "short.trace"
SWEEP = """
[axes]
machine = ["8468v-asic", "8468v-fpga"]
placement = ["default", "dram", "cxl", "dram,cxl"]

[axes.set]
"nodes.cxl.device.root_port.response_fifo" = [{fifos}]
"nodes.cxl.device.root_port.request_fifo" = [{others}]

[workloads.again]
replay = "{trace}"
"""
#: Machines times placements.
OTHERS = 2 * 4
#: A killed sweep's processes are gone within this [s].
END_SECONDS = 10.0
#: Between two looks at how many runs are finished [s].
LOOK_SECONDS = 0.05


def replays_of(least: int) -> int:
    """Number of runs of the sweep that has at least so many."""
    return OTHERS * _side(least) ** 2


def _side(least: int) -> int:
    """Values of each setting."""
    return math.ceil(math.sqrt(least / OTHERS))


def written(replays: int, trace: Path, folder: Path) -> Path:
    """A sweep of at least so many replays of ``trace``."""
    side = _side(replays)
    values = [", ".join(map(str, range(first, first + side))) for first in (16, 32)]
    file = folder / "replays.toml"
    file.write_text(SWEEP.format(fifos=values[0], others=values[1], trace=trace.resolve()))
    return file


def start(file: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    """A sweep, in the folder of its file."""
    command = [sys.executable, "-m", "cxlab", "sweep", str(file), "--out", str(out), *options]
    return subprocess.Popen(
        command, cwd=file.parent, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def count(out: Path) -> int:
    """Number of finished runs: names alone, because a look must cost the sweep no time."""
    runs = out / "runs"
    return sum(name.endswith(".parquet") for name in os.listdir(runs)) if runs.is_dir() else 0


def finished(out: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of each finished run's file."""
    files = {path.name: path.stat() for path in (out / "runs").glob("*.parquet")}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in files.items()}


def processes_in(folder: Path) -> list[str]:
    """Processes whose working folder is ``folder``."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder.resolve():
                found.append(entry.name)
        except OSError:
            continue
    return found


def await_end(folder: Path) -> None:
    """Wait until no process of a killed sweep is left."""
    until = time.monotonic() + END_SECONDS
    while processes := processes_in(folder):
        if time.monotonic() > until:
            sys.exit(f"processes outlive a killed sweep: {', '.join(processes)}")
        time.sleep(0.05)


def disturb(file: Path, out: Path, replays: int, kills: int, draw: Random) -> None:
    """Kill a sweep so often, each time when some more runs are finished, then let it end."""
    before: dict[str, tuple[int, int]] = {}
    moments = sorted(draw.randrange(replays) for _ in range(kills))
    for number, enough in enumerate(moments, 1):
        running = start(file, out)
        while count(out) < enough and running.poll() is None:
            time.sleep(LOOK_SECONDS)
        time.sleep(draw.uniform(0, 0.5))
        running.kill()
        running.communicate()
        await_end(file.parent)
        now = finished(out)
        again = [name for name, stat in before.items() if now.get(name) != stat]
        if again:
            sys.exit(f"kill {number}: {len(again)} finished runs were executed again, or are gone")
        before = now
        print(f"kill {number} of {kills}: {len(now):,} of {replays:,} runs are finished", flush=True)
    complete(file, out)
    now = finished(out)
    if any(now.get(name) != stat for name, stat in before.items()):
        sys.exit("finished runs were executed again at the end")


def complete(file: Path, out: Path, *options: str) -> None:
    """Let a sweep come to its end."""
    running = start(file, out, *options)
    said, errors = running.communicate()
    if running.returncode:
        sys.exit(f"the sweep ended with status {running.returncode}: {said}{errors}")


def differences(one: Path, other: Path) -> list[str]:
    """Names of files that only one has, or that differ."""
    files = [[folder / "sweep.json", *sorted((folder / "runs").iterdir())] for folder in (one, other)]
    names = dict.fromkeys(
        path.relative_to(folder) for folder, of in zip((one, other), files, strict=True) for path in of
    )
    contents = (
        (name, *(path.read_bytes() if (path := folder / name).exists() else None for folder in (one, other)))
        for name in names
    )
    return [str(name) for name, first, second in contents if first != second]


def main() -> None:
    """Two sweeps, one of them killed; the status says whether they have the same files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--replays", type=int, default=10_000, help="replays at least (default: 10,000)")
    parser.add_argument("--kills", type=int, default=20, help="number of kills (default: 20)")
    parser.add_argument("--seed", type=int, default=18, help="draws the moments (default: 18)")
    parser.add_argument(
        "--trace", type=Path, default=TRACE, help="what is replayed (default: the tests' short.trace)"
    )
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cxlab-sweep-kills-"))
    file = written(asked.replays, asked.trace, folder)
    replays = replays_of(asked.replays)
    began = time.monotonic()
    disturb(file, folder / "disturbed", replays, asked.kills, Random(asked.seed))
    print(f"the disturbed sweep has ended after {time.monotonic() - began:.0f} s", flush=True)
    complete(file, folder / "calm", "--processes", "1")
    found = differences(folder / "disturbed", folder / "calm")
    if found:
        names = ", ".join(itertools.islice(found, 5))
        sys.exit(f"{len(found)} files differ: {names}; see {folder}")
    ended = count(folder / "calm")
    shutil.rmtree(folder)
    seconds = time.monotonic() - began
    print(f"{ended:,} replays, {asked.kills} kills, {seconds:.0f} s: the same files, every byte")


if __name__ == "__main__":
    main()
