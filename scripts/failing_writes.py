"""``make failing-writes``: each call that writes a result fails once, and what is left is judged.

::

    call N of each kind fails, for each N, or for --most of them that are spread evenly
      fsync, rename, truncate, mkdir     strace injects the error, in each thread of all processes
      a new file                         a tmpfs with N inodes left
      a page of data                     a tmpfs with N pages left

- Either the command says so and its status is not 0, or its files are bit-identical to an undisturbed run's.
- No traceback, and no half file: neither under its own name nor under a hidden one.
- An error names the file whose call failed. On a full disk it names a file that the command writes.

Only root may mount a tmpfs. strace is a package of Debian. All shared memory is memfds: /dev/shm is not used.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CXLAB = (sys.executable, "-m", "cxlab")
TRACES = Path(__file__).resolve().parents[1] / "tests" / "golden" / "traces"
PAGE = 4096
#: System calls that fail, with the error that a full or a broken disk gives.
CALLS = {
    "fsync": "EIO",
    "rename,renameat,renameat2": "ENOSPC",
    "ftruncate,fallocate": "ENOSPC",
    "mkdir,mkdirat": "ENOSPC",
}
INODES, PAGES = "new file", "page"
#: A command ends within this [s].
LIMIT = 300
SWEEP = f"""[axes]
machine = ["8468v-asic", "8468v-fpga"]

[workloads.again]
replay = "{TRACES / "short.trace"}"
"""
CURVE = """path,threads,rw_mix,store_type,pattern,inject_delay,latency_ns,bandwidth_MBps
cxl,1,1:0,none,sequential,0,300,9000
cxl,1,1:0,none,sequential,9000,250,900
"""
INPUTS = {"sweep.toml": SWEEP, "curve.csv": CURVE}
PROGRAM = ("sh", "-c", "seq 30 | sort -r | md5sum")


@dataclass(frozen=True)
class Mode:
    """A command, and the files that it leaves."""

    arguments: tuple[str, ...]
    #: bit for bit the same each time
    exact: tuple[str, ...]
    #: a trace: its bytes differ from run to run, and it replays or is absent
    trace: str | None = None


RUN = ("run", "--out", "out", "--overwrite")
MODES = {
    "replay": Mode(("replay", str(TRACES / "short.trace"), "--json", "replay.json"), ("replay.json",)),
    "bench": Mode(
        ("bench", "latency", "--machine", "8468v-asic", "--node", "cxl", "--json", "bench.json"),
        ("bench.json",),
    ),
    "sweep": Mode(("sweep", "sweep.toml", "--out", "sweep"), ("sweep/runs/*.parquet",)),
    "run": Mode((*RUN, "--", *PROGRAM), ("out/statistics.json",)),
    "record": Mode((*RUN, "--record", "run.trace", "--", *PROGRAM), ("out/statistics.json",), "run.trace"),
    "calibrate": Mode(
        (
            *("calibrate", "--measured", "curve.csv", "--start", "spr-a1000", "--out", "fitted.toml"),
            *("--free", "a1000.root_port.bridge_latency", "--iterations", "1", "--json", "fitted.json"),
        ),
        ("fitted*.toml", "fitted.json", "fitted.png"),
    ),
}


@contextmanager
def small_disk(folder: Path, limit: str) -> Iterator[None]:
    """A tmpfs with this limit over the folder."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", limit, "none", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def hashes(folder: Path, mode: Mode) -> dict[str, str]:
    """Digest of each exact file that is there, but for dates."""
    paths = (path for name in mode.exact for path in sorted(folder.glob(name)))
    # A fitted machine file has the date of its calibration, and a test may run over midnight.
    undated = {path: re.sub(rb"\b\d{4}-\d\d-\d\d\b", b"DATE", path.read_bytes()) for path in paths}
    return {str(path.relative_to(folder)): hashlib.sha256(text).hexdigest() for path, text in undated.items()}


class Trial:
    """A mode, its folder and its undisturbed files."""

    def __init__(self, name: str, folder: Path) -> None:
        """Run the mode undisturbed."""
        self.name, self.mode, self.folder = name, MODES[name], folder
        self._clear()
        done = self._execute(())
        if done.returncode != 0:
            raise SystemExit(f"undisturbed, {name} ends with {done.returncode}: {done.stderr}")
        self.reference = hashes(folder, self.mode)
        paths = [path for path in folder.rglob("*")]
        self.names = {path.name for path in paths} - set(INPUTS)
        self.limits = {INODES: len(paths), PAGES: sum(-(-path.stat().st_size // PAGE) for path in paths)}

    def _clear(self) -> None:
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, text in INPUTS.items():
            (self.folder / name).write_text(text)

    def _execute(self, before: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*before, *CXLAB, *self.mode.arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=LIMIT,
            # Python's own cache is no result.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )

    def calls(self, names: str, log: Path) -> int:
        """The most calls of this kind that one thread makes."""
        self._clear()
        self._execute(_strace(names, log))
        threads = Counter(
            line.split()[0] for line in log.read_text(errors="replace").splitlines() if "(" in line
        )
        return max(threads.values(), default=0)

    def inject(self, names: str, number: int, log: Path) -> list[str] | None:
        """Defects of a run whose call of this number fails; None if this run made fewer calls."""
        self._clear()
        injection = f"inject={names}:error={CALLS[names]}:when={number}"
        done = self._execute((*_strace(names, log), "-e", injection))
        lines = [line for line in log.read_text(errors="replace").splitlines() if "(INJECTED)" in line]
        return self._judge(done, written(lines, self.folder)) if lines else None

    def fill(self, kind: str, left: int) -> list[str]:
        """Defects of a run on a disk with so much left."""
        # The folder itself and the inputs, of a page each, are there before.
        limit = (
            f"nr_inodes={1 + len(INPUTS) + left}" if kind == INODES else f"size={(len(INPUTS) + left) * PAGE}"
        )
        with small_disk(self.folder, limit):
            self._clear()
            return self._judge(self._execute(()), self.names)

    def _judge(self, done: subprocess.CompletedProcess[str], names: set[str]) -> list[str]:
        """Defects of this run, in which one of the named files could not be written."""
        found = []
        now = hashes(self.folder, self.mode)
        if "Traceback" in done.stderr:
            found.append("a traceback")
        if done.returncode != 0 and not done.stderr.strip():
            found.append(f"nothing explains status {done.returncode}")
        elif done.returncode != 0 and names and not any(name in done.stderr for name in names):
            found.append(f"the error does not name {' or '.join(sorted(names))}")
        # If bwrap fails, the run goes on without a jail and says so. Its figures differ from those in a jail.
        comparable = "cxlab: no jail" not in done.stderr
        if done.returncode == 0 and (
            now != self.reference if comparable else now.keys() != self.reference.keys()
        ):
            found.append("status 0, and files are missing or differ")
        if comparable:
            found += [f"{name} is not whole" for name in now if now[name] != self.reference.get(name)]
        trace = None if self.mode.trace is None else self.folder / self.mode.trace
        if trace is not None and trace.exists():
            replay = [*CXLAB, "replay", str(trace)]
            if subprocess.run(replay, capture_output=True, check=False).returncode != 0:
                found.append("a trace that does not replay")
        found += [
            f"half a file: {path.name}"
            for path in self.folder.rglob("*")
            if path.suffix != ".lock" and (path.name.startswith(".") or "unfinished" in path.name)
        ]
        return [f"{defect} (status {done.returncode}: {done.stderr.strip()[-300:]})" for defect in found]


def _strace(names: str, log: Path) -> tuple[str, ...]:
    return ("strace", "-f", "-y", "-q", "--seccomp-bpf", "-o", str(log), "-e", f"trace={names}")


def written(lines: list[str], folder: Path) -> set[str]:
    """Names of the files below the folder that strace's lines are about, as a user knows them."""
    paths = (
        folder / path for line in lines for pair in re.findall(r'"([^"]+)"|<(/[^>]+)>', line) for path in pair
    )
    names = {path.name for path in paths if path != folder and path.is_relative_to(folder)}
    # A whole file is written as .NAME.*.unfinished.
    return {re.sub(r"^\.(.+)\.[^.]+\.unfinished$", r"\1", name) for name in names}


def spread(numbers: range, most: int) -> list[int]:
    """At most so many of the numbers: the first, the last and what lies evenly between them."""
    if len(numbers) <= most:
        return list(numbers)
    step = (len(numbers) - 1) / max(1, most - 1)
    return [numbers[round(place * step)] for place in range(most)]


def tries(trial: Trial, log: Path, most: int) -> Iterator[tuple[str, int, list[str]]]:
    """Failing calls of a mode: their kinds, their numbers, the defects."""
    for names in CALLS:
        for number in spread(range(1, trial.calls(names, log) + 1), most):
            found = trial.inject(names, number, log)
            if found is not None:
                yield names.partition(",")[0], number, found
    if os.geteuid() == 0:
        for kind, limit in trial.limits.items():
            for left in spread(range(limit), most):
                yield kind, left, trial.fill(kind, left)


def main() -> int:
    """Try every call of every mode."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mode", action="append", choices=MODES, help="try this mode only; repeatable")
    parser.add_argument("--most", type=int, default=100, help="calls of a kind that fail (default 100)")
    given = parser.parse_args()
    if shutil.which("strace") is None:
        raise SystemExit("failing_writes: strace is missing; install it: apt-get install strace")
    made = bad = 0
    with tempfile.TemporaryDirectory(prefix="cxlab-failing-writes-") as name:
        log, folder = Path(name) / "strace.log", Path(name) / "results"
        folder.mkdir()
        for mode in given.mode or MODES:
            of_kind = Counter[str]()
            for kind, number, found in tries(Trial(mode, folder), log, given.most):
                of_kind[kind] += 1
                bad += bool(found)
                print(f"{mode}, {kind} {number}: {'; '.join(found) or 'good'}", flush=True)
            made += of_kind.total()
            counts = ", ".join(f"{count} {kind}" for kind, count in of_kind.items())
            print(f"{mode}: {of_kind.total()} failing calls ({counts})", flush=True)
    print(f"{made} failing calls, {bad} with defects")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
