"""``make kill-test``: signals at random moments of every mode, and full disks; what each left is judged.

::

    for each try:  mode, target, signal, moment, drawn from the seed
      start the command --> signal --> wait for its end --> judge what it left --> a line of the journal

- A full disk (FULL) is a tmpfs of a part of what an undisturbed run leaves: writes fail from a page on.
  ``results`` has the run's folder, traces and sweeps; ``cache`` has the saved boot. Only root may mount it.
- Complete means bit-identical to an undisturbed run. Anything else says what is missing.
- No process is left, and no half file. What a SIGKILL of the supervisor left, the next run removes.

A journal that is there already is gone on with. The table is printed at the end, and after ctrl-C.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from cxlab.run.guest import cache
from rich.console import Console
from rich.table import Table

CXLAB = (sys.executable, "-m", "cxlab")
TRACES = Path(__file__).parents[1] / "tests" / "golden" / "traces"
#: What is done beside signals: the disk is full from a random page on.
FULL, RESULTS, CACHE = "FULL", "results", "cache"
PAGE = 4096
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL, signal.SIGSTOP)
#: What may be done to a run. Only root may mount a disk to fill.
EVENTS = (*(one.name for one in SIGNALS), *((FULL,) if os.geteuid() == 0 else ()))
#: A disturbed run may take so much longer than an undisturbed one [s], and so many times as long.
LONGER_SECONDS, LONGER_TIMES = 60.0, 6.0
#: How long a stopped process stays so [s].
STOPPED_SECONDS = 2.0
#: Processes end within this of the supervisor [s].
END_SECONDS = 15.0
#: Several processes and pipes, in a few million instructions.
SORT = ("sh", "-c", "seq 300 | sort -r | sort -n | md5sum")
#: Who stands in a mode's processes: the command itself, and its children by the beginning of their names.
SUPERVISOR, QEMU, MODEL = "cxlab", "qemu", "python"


@dataclass(frozen=True)
class Mode:
    """A command, and what it leaves."""

    name: str
    #: after ``cxlab``, in a folder of its own
    arguments: tuple[str, ...]
    #: files that an undisturbed run leaves, bit for bit the same each time
    exact: tuple[str, ...]
    targets: tuple[str, ...] = (SUPERVISOR, QEMU, MODEL)
    #: the command has a terminal, where this is typed
    typed: bytes | None = None
    #: it is ended before it could end: so long is waited at most [s]
    cut_after: float | None = None
    #: a trace that it leaves: its bytes differ from run to run, what its replay says does not
    replays: str | None = None
    #: it saves a boot in the cache, or loads one
    boots: bool = False


def _guest(name: str, *options: str, program: tuple[str, ...] = SORT, replays: str | None = None) -> Mode:
    arguments = ("run", "--out", "out", "--overwrite", *options, "--", *program)
    return Mode(
        name, arguments, ("stdout", "out/statistics.json"), boots="--cxl" not in options, replays=replays
    )


TRACE = str(TRACES / "chase.trace")
MODES = (
    _guest("run"),
    Mode(
        "boot",
        ("boot", "--out", "out", "--overwrite", "--detail", "off"),
        (),
        targets=(SUPERVISOR, QEMU),
        typed=b"echo here; exit\n",
    ),
    Mode(
        "replay", ("replay", TRACE, "--json", "replay.json"), ("stdout", "replay.json"), (SUPERVISOR, MODEL)
    ),
    _guest("sample", "--sample", "detail=1k,warm=2k,every=50k"),
    _guest("record", "--record", "run.trace", replays="run.trace"),
    Mode(
        "caption",
        ("caption", "--out", "out", "--overwrite", "--start", "50%", "--most-samples", "8", "--", *SORT),
        ("out/statistics.json",),
    ),
    Mode(
        "calibrate",
        ("calibrate", "--measured", "curve.csv", "--start", "spr-a1000", "--out", "fitted.toml"),
        (),
        targets=(SUPERVISOR,),
        cut_after=15.0,
    ),
    Mode("sweep", ("sweep", "sweep.toml", "--out", "sweep"), ("sweep/runs/*.parquet",), (SUPERVISOR, MODEL)),
    _guest("4 vCPUs", "--cpus", "4"),
    _guest("device", "--cxl", "device", "--membind", "cxl"),
)
SWEEP = f"""[axes]
machine = ["8468v-asic", "8468v-fpga"]

[axes.set]
"nodes.cxl.device.root_port.response_fifo" = [32, 48, 64]

[workloads.again]
replay = "{TRACES / "device.trace"}"
"""
CURVE = """path,threads,rw_mix,store_type,pattern,inject_delay,latency_ns,bandwidth_MBps
cxl,16,1:0,none,sequential,0,900,40000
cxl,16,1:0,none,sequential,500,290,20000
cxl,16,1:0,none,sequential,9000,250,900
"""


@dataclass(frozen=True)
class Try:
    """What is done, and when."""

    number: int
    mode: str
    target: str
    signal: str
    #: fraction of the undisturbed run's length
    moment: float


@dataclass
class Verdict:
    """What came of it."""

    #: complete, incomplete, too late (it had ended before)
    end: str
    status: int | None
    #: defects: none in a good run
    found: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Reference:
    """An undisturbed run."""

    seconds: float
    #: of each exact file
    hashes: dict[str, str]
    #: what it leaves, by the disk that it is on [bytes]
    sizes: dict[str, int]


def tries(seed: int, count: int, modes: tuple[Mode, ...]) -> Iterator[Try]:
    """The same for a seed, whatever the count: modes in turn, all else drawn."""
    for number in range(count):
        random = Random(f"{seed} {number}")
        mode = modes[number % len(modes)]
        chosen, moment = random.choice(EVENTS), random.random()
        targets = mode.targets
        if chosen == FULL:
            targets = (RESULTS, CACHE) if mode.boots else (RESULTS,)
        yield Try(number, mode.name, random.choice(targets), chosen, moment)


def digest(folder: Path, name: str) -> str:
    """Of the files of this name, which may have a ``*``, or that there is none."""
    files = [path for path in sorted(folder.glob(name)) if path.is_file()]
    content = hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files))
    return content.hexdigest() if files else "absent"


def size(folder: Path) -> int:
    """Pages of the files below, in bytes."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in ("stdout", "stderr"))
    return sum(-(-path.stat().st_size // PAGE) * PAGE for path in files)


def saved_boot_bytes() -> int:
    """What the largest saved boot takes of the disk."""
    states = (cache.folder() / "boot").glob("*/state")
    return max((path.stat().st_blocks * 512 for path in states), default=PAGE)


@contextmanager
def small_disk(folder: Path, limit: int) -> Iterator[None]:
    """A file system of so many bytes over the folder, with what the folder has."""
    kept = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".csv", ".toml")}
    inputs = sum(-(-len(content) // PAGE) * PAGE for content in kept.values())
    options = f"size={max(PAGE, limit // PAGE * PAGE) + inputs}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], check=True)
    try:
        for name, content in kept.items():
            (folder / name).write_bytes(content)
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def descendants(pid: int) -> dict[int, str]:
    """Processes below ``pid``, and their names."""
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        children.setdefault(int(rest.split()[1]), []).append(int(folder.name))
        names[int(folder.name)] = name.partition("(")[2]
    found: dict[int, str] = {}
    queue = [pid]
    while queue:
        for child in children.get(queue.pop(), ()):
            found[child] = names[child]
            queue.append(child)
    return found


def alive(pid: int, name: str) -> bool:
    """Whether the process is still there, and no zombie."""
    try:
        found, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return False
    return found.partition("(")[2] == name and rest.split()[0] not in "ZX"


class Bench:
    """A folder for each mode, the undisturbed runs, the tries."""

    def __init__(self, folder: Path) -> None:
        """In ``folder``, which is empty."""
        self.folder = folder
        self.references: dict[str, Reference] = {}

    def _folder(self, mode: Mode) -> Path:
        """Where the command runs, with what it reads."""
        folder = self.folder / mode.name.replace(" ", "-")
        folder.mkdir(exist_ok=True)
        (folder / "curve.csv").write_text(CURVE)
        (folder / "sweep.toml").write_text(SWEEP)
        return folder

    def _said(self, mode: Mode) -> Path:
        """Where its standard output and error are, which no full disk takes."""
        folder = self.folder / "said" / mode.name.replace(" ", "-")
        folder.mkdir(exist_ok=True, parents=True)
        return folder

    def start(
        self, mode: Mode, environment: dict[str, str] | None = None
    ) -> tuple[subprocess.Popen[bytes], Callable[[], None]]:
        """The command in its folder; what closes its terminal."""
        folder, said = self.folder / mode.name.replace(" ", "-"), self._said(mode)

        def hear_ctrl_c() -> None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)

        with (said / "stdout").open("wb") as out, (said / "stderr").open("wb") as err:
            stdin: int = subprocess.DEVNULL
            close: Callable[[], None] = lambda: None  # noqa: E731
            if mode.typed is not None:
                ours, stdin = pty.openpty()
                os.write(ours, mode.typed)

                def close(ours: int = ours, theirs: int = stdin) -> None:
                    os.close(ours)
                    os.close(theirs)

            popen = subprocess.Popen(
                [*CXLAB, *mode.arguments],
                cwd=folder,
                stdin=stdin,
                stdout=out,
                stderr=err,
                preexec_fn=hear_ctrl_c,
                env={**os.environ, **(environment or {})},
            )
        return popen, close

    def hashes(self, mode: Mode) -> dict[str, str]:
        """Of each exact file as it is now."""
        folders = {"stdout": self._said(mode)}
        found = {name: digest(folders.get(name, self._folder(mode)), name) for name in mode.exact}
        if mode.replays is not None:
            found[mode.replays] = self._replayed(self._folder(mode), mode.replays)
        return found

    @staticmethod
    def _replayed(folder: Path, trace: str) -> str:
        """What the replay of a trace says, or that there is none."""
        with tempfile.TemporaryDirectory() as other:
            said = Path(other) / "replay.json"
            command = [*CXLAB, "replay", trace, "--json", str(said)]
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
            return hashlib.sha256(said.read_bytes()).hexdigest() if done.returncode == 0 else "not replayed"

    def reference(self, mode: Mode) -> Reference:
        """An undisturbed run, once for each mode."""
        if mode.name not in self.references:
            folder = self._folder(mode)
            if mode.cut_after is not None:
                self.references[mode.name] = Reference(mode.cut_after, {}, {RESULTS: PAGE})
                return self.references[mode.name]
            begun, before = time.monotonic(), size(folder)
            popen, close = self.start(mode)
            status = popen.wait()
            close()
            if status != 0:
                said = (self._said(mode) / "stderr").read_text(errors="replace")
                raise SystemExit(f"undisturbed, {mode.name} ends with {status}: {said}")
            sizes = {RESULTS: size(folder) - before, CACHE: saved_boot_bytes()}
            self.references[mode.name] = Reference(time.monotonic() - begun, self.hashes(mode), sizes)
        return self.references[mode.name]

    def disturb(self, mode: Mode, what: Try) -> Verdict:
        """One try."""
        reference = self.reference(mode)
        folder = self._folder(mode)
        left = () if mode.replays is None else (mode.replays,)
        for name in (*mode.exact, *left, "out/summary.json"):
            for path in folder.glob(name):
                path.unlink()
        if what.signal == FULL:
            return self._fill(mode, what, reference)
        popen, close = self.start(mode)
        try:
            time.sleep(what.moment * reference.seconds)
            below = descendants(popen.pid)
            sent = self._send(popen, below, what)
            interrupt = mode.cut_after is not None and what.signal == "SIGSTOP"
            status, found = self._wait(popen, reference, interrupt=interrupt)
        finally:
            close()
        found += self._orphans(below)
        killed = what.signal == "SIGKILL" and what.target == SUPERVISOR and sent
        if not killed:
            found += [f"half a file: {path.name}" for path in self._half_files(folder)]
        return self._judge(mode, folder, reference, status, sent, killed, found)

    def _fill(self, mode: Mode, what: Try, reference: Reference) -> Verdict:
        """One try with a full disk."""
        folder, limit = self._folder(mode), int(what.moment * reference.sizes[what.target])
        environment: dict[str, str] = {}
        if what.target == CACHE:
            disk = self.folder / "cache"
            disk.mkdir(exist_ok=True)
            environment["XDG_CACHE_HOME"] = str(disk)
            limit += size(cache.folder() / "kernel")
        else:
            disk = folder
        with small_disk(disk, limit):
            if what.target == CACHE:
                shutil.copytree(cache.folder() / "kernel", disk / cache.folder().name / "kernel")
            popen, close = self.start(mode, environment)
            try:
                # What has no end of its own is cut.
                if mode.cut_after is not None:
                    time.sleep(min(2.0, mode.cut_after))
                status, found = self._wait(popen, reference, interrupt=mode.cut_after is not None)
            finally:
                close()
            found += [f"half a file: {path.name}" for path in self._half_files(disk)]
            return self._judge(mode, folder, reference, status, sent=True, killed=False, found=found)

    @staticmethod
    def _wait(
        popen: subprocess.Popen[bytes], reference: Reference, *, interrupt: bool
    ) -> tuple[int | None, list[str]]:
        """Its status, and a defect if it does not end."""
        limit = LONGER_TIMES * reference.seconds + LONGER_SECONDS
        if interrupt:
            popen.send_signal(signal.SIGINT)
        try:
            return popen.wait(limit), []
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait()
            return None, [f"it did not end within {limit:.0f} s"]

    @staticmethod
    def _send(popen: subprocess.Popen[bytes], below: dict[int, str], what: Try) -> bool:
        """Whether there was somebody to send the signal to."""
        number = signal.Signals[what.signal]
        named = [pid for pid, name in below.items() if name.startswith(what.target)]
        pids = [popen.pid] if what.target == SUPERVISOR else named[-1:]
        if not pids or popen.poll() is not None:
            return False
        try:
            os.kill(pids[0], number)
            if number == signal.SIGSTOP:
                time.sleep(STOPPED_SECONDS)
                os.kill(pids[0], signal.SIGCONT)
        except ProcessLookupError:
            return False
        return True

    @staticmethod
    def _orphans(below: dict[int, str]) -> list[str]:
        until = time.monotonic() + END_SECONDS
        while (
            left := [name for pid, name in below.items() if alive(pid, name)]
        ) and time.monotonic() < until:
            time.sleep(0.05)
        return [f"still running: {name}" for name in left]

    @staticmethod
    def _half_files(folder: Path) -> list[Path]:
        # A lock of the cache stays: it is an empty file.
        files = (path for path in folder.rglob("*") if path.suffix != ".lock")
        return [path for path in files if path.name.startswith(".") or "unfinished" in path.name]

    def _judge(
        self,
        mode: Mode,
        folder: Path,
        reference: Reference,
        status: int | None,
        sent: bool,
        killed: bool,
        found: list[str],
    ) -> Verdict:
        said = (self._said(mode) / "stderr").read_text(errors="replace")
        if "Traceback" in said:
            found.append("a traceback")
        summary: dict[str, Any] = {}
        if (folder / "out/summary.json").is_file():
            summary = json.loads((folder / "out/summary.json").read_bytes())
        if status == 0:
            if summary and summary["complete"] is not True:
                found.append("status 0 of a run that is not complete")
            now = self.hashes(mode)
            found += [f"{name} differs" for name in now if now[name] != reference.hashes[name]]
            return Verdict("complete" if sent else "too late", status, found)
        if killed:
            if mode.cut_after is None:
                found += self._after_a_kill(mode, folder, reference)
            return Verdict("incomplete", status, found)
        if not sent:
            found.append(f"status {status} of an undisturbed run")
        # What is made of a run that is complete, as Caption's plot, may not fit any more: a message names it.
        if summary.get("complete") is True and "No space left" not in said:
            found.append(f"status {status} of a run that says that it is complete")
        if mode.replays is not None and (folder / mode.replays).is_file():
            found.append("a trace of a run that is not complete")
        if status is not None and status not in (1, 125, 129, 130, 143) and not (status < 0 and not summary):
            found.append(f"status {status}")
        # A negative status: the signal came before Python could hear it, and the caller's shell names it.
        named = status is not None and (status in (129, 130, 143) or status < 0)
        if not summary.get("reason") and not said.strip() and not named:
            found.append("nothing says why it is not complete")
        return Verdict("incomplete", status, found)

    def _after_a_kill(self, mode: Mode, folder: Path, reference: Reference) -> list[str]:
        """The next run removes what was left, and is as good as any."""
        popen, close = self.start(mode)
        status = popen.wait()
        close()
        found = [] if status == 0 else [f"the next run ends with {status}"]
        found += [f"half a file after the next run: {path.name}" for path in self._half_files(folder)]
        now = self.hashes(mode)
        return found + [
            f"{name} of the next run differs" for name in now if now[name] != reference.hashes[name]
        ]


def read(journal: Path) -> dict[int, tuple[Try, Verdict]]:
    """The tries that were made."""
    done: dict[int, tuple[Try, Verdict]] = {}
    if journal.is_file():
        for line in journal.read_text().splitlines():
            entry = json.loads(line)
            done[entry["try"]["number"]] = (Try(**entry["try"]), Verdict(**entry["verdict"]))
    return done


def show(done: dict[int, tuple[Try, Verdict]], console: Console) -> int:
    """Print the table; how many tries found something."""
    table = Table()
    for place, heading in enumerate(("mode", "signals", "complete", "incomplete", "too late", "defects")):
        table.add_column(heading, justify="right" if place else "left")
    for name in dict.fromkeys(what.mode for what, _ in done.values()):
        verdicts = [verdict for what, verdict in done.values() if what.mode == name]
        ends = Counter(verdict.end for verdict in verdicts)
        bad = sum(bool(verdict.found) for verdict in verdicts)
        counts = (len(verdicts), ends["complete"], ends["incomplete"], ends["too late"], bad)
        table.add_row(name, *(str(count) for count in counts))
    console.print(table)
    bad = 0
    for what, verdict in done.values():
        if verdict.found:
            bad += 1
            console.print(
                f"try {what.number}: {what.signal} to {what.target} of {what.mode} at {what.moment:.0%}: "
                f"{'; '.join(verdict.found)}"
            )
    return bad


def main() -> int:
    """Make the tries that the journal lacks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="number of tries (default 500)")
    parser.add_argument("--seed", type=int, default=1, help="seed of modes, signals and moments (default 1)")
    parser.add_argument(
        "--mode",
        action="append",
        choices=[mode.name for mode in MODES],
        help="try this mode only; repeatable",
    )
    parser.add_argument(
        "--journal", type=Path, help="file with a line for each try; tries in it are not repeated"
    )
    given = parser.parse_args()
    modes = tuple(mode for mode in MODES if given.mode is None or mode.name in given.mode)
    done = {} if given.journal is None else read(given.journal)
    console = Console(highlight=False)
    folder = Path(tempfile.mkdtemp(prefix="cxlab-kill-test-"))
    bench = Bench(folder)
    try:
        for what in tries(given.seed, given.count, modes):
            if what.number in done:
                continue
            (mode,) = (mode for mode in modes if mode.name == what.mode)
            verdict = bench.disturb(mode, what)
            done[what.number] = (what, verdict)
            if given.journal is not None:
                with given.journal.open("a") as file:
                    file.write(json.dumps({"try": asdict(what), "verdict": asdict(verdict)}) + "\n")
            good = "" if not verdict.found else f"  DEFECT: {'; '.join(verdict.found)}"
            moment = f"{what.signal} to {what.target} at {what.moment:.0%}"
            console.print(
                f"{len(done)}/{given.count} {what.mode}: {moment}: {verdict.end}{good}", soft_wrap=True
            )
    except KeyboardInterrupt:
        console.print("ended by ctrl-C")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if show(done, console) else 0


if __name__ == "__main__":
    sys.exit(main())
