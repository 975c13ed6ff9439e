"""``make failing-writes``: each call that writes a result fails once, and what is left is judged.

::

    call N of each kind fails, for each N
      fsync, rename, truncate, mkdir     strace injects the error, in each thread of all processes
      a new file                         a tmpfs with N inodes left
      a page of data                     a tmpfs with N pages left: the first page and the last of each file

A site is a kind of call and the file that it is about. Modes have most of their sites in common,
because one piece of code writes the results of all runs. So a site fails once, in the first mode
that has it. With --every, all calls and pages of each mode fail. That takes many hours, because a
trace has thousands of pages.

- Either the command says so and its status is not 0, or its files are bit-identical to an undisturbed run's.
- No traceback, and no half file: neither under its own name nor under a hidden one.
- An error names the file whose call failed. On a full disk it names a file that the command writes.

Only root may mount a tmpfs. strace is a package of Debian. All shared memory is memfds: /dev/shm is not used.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pty
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
#: A page of a file that is neither its first nor its last.
BETWEEN = "between"
#: A kind of call, and the file that the call is about.
Site = tuple[str, str]
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
    #: the command has a terminal, where this is typed
    typed: bytes | None = None


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
    "sample": Mode(
        (*RUN, "--sample", "detail=1k,warm=2k,every=50k", "--", *PROGRAM), ("out/statistics.json",)
    ),
    "4 vCPUs": Mode((*RUN, "--cpus", "4", "--", *PROGRAM), ("out/statistics.json",)),
    "device": Mode((*RUN, "--cxl", "device", "--membind", "cxl", "--", *PROGRAM), ("out/statistics.json",)),
    "boot": Mode(("boot", "--out", "out", "--overwrite", "--detail", "off"), (), typed=b"echo here; exit\n"),
    "caption": Mode(
        ("caption", *RUN[1:], "--start", "50%", "--most-samples", "8", "--", *PROGRAM),
        ("out/statistics.json",),
    ),
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
        paths = sorted((path for path in folder.rglob("*") if path.name not in INPUTS), key=_written_at)
        self.names = {path.name for path in paths}
        #: sites that fill up, by what is left then
        self.full: dict[str, list[Site]] = {INODES: [(INODES, path.name) for path in paths], PAGES: []}
        for path in paths:
            if path.is_file():
                last = -(-path.stat().st_size // PAGE) - 1
                places = (
                    "first" if page == 0 else "last" if page == last else BETWEEN for page in range(last + 1)
                )
                self.full[PAGES] += [(PAGES, f"{path.name}, {place}") for place in places]

    def _clear(self) -> None:
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, text in INPUTS.items():
            (self.folder / name).write_text(text)

    def _execute(self, before: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        terminal: tuple[int, ...] = () if self.mode.typed is None else pty.openpty()
        if self.mode.typed is not None:
            os.write(terminal[0], self.mode.typed)
        try:
            return subprocess.run(
                [*before, *CXLAB, *self.mode.arguments],
                cwd=self.folder,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=terminal[1] if terminal else subprocess.DEVNULL,
                check=False,
                timeout=LIMIT,
                # Python's own cache is no result.
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            )
        finally:
            for descriptor in terminal:
                os.close(descriptor)

    def calls(self, names: str, log: Path) -> list[set[Site]]:
        """Sites of the first call of this kind in each thread, of the second, and so on."""
        self._clear()
        self._execute(_strace(names, log))
        return numbered(names, log.read_text(errors="replace").splitlines(), self.folder)

    def inject(self, names: str, number: int, log: Path) -> tuple[list[str], set[Site]]:
        """Defects of a run whose calls of this number fail, and the sites that failed."""
        self._clear()
        injection = f"inject={names}:error={CALLS[names]}:when={number}"
        done = self._execute((*_strace(names, log), "-e", injection))
        lines = [line for line in log.read_text(errors="replace").splitlines() if "(INJECTED)" in line]
        failed = {site(names, line, self.folder) for line in lines}
        return self._judge(done, written(lines, self.folder)) if lines else [], failed

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


def _written_at(path: Path) -> tuple[int, int]:
    """A key that sorts paths by when they were written: a folder before what is in it."""
    times = [below.stat().st_mtime_ns for below in path.rglob("*")]
    return min(times, default=path.stat().st_mtime_ns), path.is_file()


def _strace(names: str, log: Path) -> tuple[str, ...]:
    return ("strace", "-f", "-y", "-q", "--seccomp-bpf", "-o", str(log), "-e", f"trace={names}")


def named(line: str) -> list[str]:
    """Paths in a line of strace, in its order."""
    return ["".join(pair) for pair in re.findall(r'"([^"]+)"|<(/[^>]+)>', line)]


def whole(name: str) -> str:
    """The name of a file that is written as .NAME.*.unfinished; other names stay."""
    return re.sub(r"^\.(.+)\.[^.]+\.unfinished$", r"\1", name)


def written(lines: list[str], folder: Path) -> set[str]:
    """Names of the files below the folder that strace's lines are about, as a user knows them."""
    paths = (folder / path for line in lines for path in named(line))
    return {whole(path.name) for path in paths if path != folder and path.is_relative_to(folder)}


def site(names: str, line: str, folder: Path) -> Site:
    """The site of a line of strace: of a rename, the file's new name."""
    path = Path((named(line) or [line])[-1])
    name = path.name if path != folder and path.is_relative_to(folder) else str(path)
    # Names that are drawn have eight letters and digits, as tempfile's have.
    return names.partition(",")[0], re.sub(r"(?<=[-.])[a-z0-9_]{8}(?=[/.]|$)", "*", whole(name))


def numbered(names: str, lines: list[str], folder: Path) -> list[set[Site]]:
    """Sites of the first call of each thread, of the second, and so on."""
    made = Counter[str]()
    found: list[set[Site]] = []
    for line in lines:
        if "(" in line:
            thread = line.split()[0]
            if made[thread] == len(found):
                found.append(set())
            found[made[thread]].add(site(names, line, folder))
            made[thread] += 1
    return found


def tries(trial: Trial, log: Path, failed: set[Site], every: bool) -> Iterator[tuple[str, int, list[str]]]:
    """Failing calls of a mode: their kinds, their numbers, the defects.

    Numbers whose sites have all failed before are left out, unless every call is to fail.
    """
    for names in CALLS:
        for number, sites in enumerate(trial.calls(names, log), start=1):
            if every or not sites <= failed:
                found, reached = trial.inject(names, number, log)
                failed |= reached
                if reached:
                    yield names.partition(",")[0], number, found
    if os.geteuid() == 0:
        for kind, places in trial.full.items():
            for left, place in enumerate(places):
                if every or not (place in failed or place[1].endswith(f", {BETWEEN}")):
                    failed.add(place)
                    yield kind, left, trial.fill(kind, left)


def main() -> int:
    """Try every call of every mode."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mode", action="append", choices=MODES, help="try this mode only; repeatable")
    parser.add_argument("--every", action="store_true", help="fail every call, not one of each site")
    given = parser.parse_args()
    if shutil.which("strace") is None:
        raise SystemExit("failing_writes: strace is missing; install it: apt-get install strace")
    made = bad = 0
    failed = set[Site]()
    with tempfile.TemporaryDirectory(prefix="cxlab-failing-writes-") as name:
        log, folder = Path(name) / "strace.log", Path(name) / "results"
        folder.mkdir()
        for mode in given.mode or MODES:
            of_kind = Counter[str]()
            for kind, number, found in tries(Trial(mode, folder), log, failed, given.every):
                of_kind[kind] += 1
                bad += bool(found)
                print(f"{mode}, {kind} {number}: {'; '.join(found) or 'good'}", flush=True)
            made += of_kind.total()
            counts = ", ".join(f"{count} {kind}" for kind, count in of_kind.items())
            print(f"{mode}: {of_kind.total()} failing calls ({counts})", flush=True)
    print(f"{made} failing calls at {len(failed)} sites, {bad} with defects")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
