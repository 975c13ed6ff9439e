"""``scripts/compare_memo.py``: cxlab-memo beside other tools, on this machine, in turns.

The other tools are STREAM in C (compiled here with gcc), mbw, stress-ng and sysbench (Debian packages). Each
has one thread on one CPU, the same memory, the same pages. The tools take turns, so that what disturbs one
disturbs the other. STREAM's figure is the best of all rounds, as STREAM's rules have it. The others' are the
medians, and their ratio is the median of the rounds' ratios. Where other programs run, ``--nice -20`` keeps
most of them off the CPU, but not off the memory."""

from __future__ import annotations

import argparse
import enum
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.progress import track
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
MEMO = ROOT / "python" / "cxlab" / "bin" / "cxlab-memo"
SIZE_MIB = 256
#: Of STREAM, in a round.
REPEATS = 10
MIB_IN_MB = 1.048576
#: Vectors as wide as memo's; without the last, gcc makes STREAM's copy a call of memcpy, which stores past
#: the caches.
STREAM_OPTIONS = ("-O3", "-march=native", "-fno-tree-loop-distribute-patterns")

Figures = dict[str, float]


class Point(Struct, frozen=True):
    """A point of memo's file (crates/memo), as far as it is read here."""

    bandwidth_mb_s: float
    #: of STREAM
    kernel: str = ""


class Points(Struct, frozen=True):
    """Memo's file, as far as it is read here."""

    points: list[Point]


class Statistic(enum.Enum):
    """The figure of many rounds that is compared."""

    BEST = "best"
    MEDIAN = "median"

    def of(self, figures: list[float]) -> float:
        """The one figure that stands for many."""
        return max(figures) if self is Statistic.BEST else statistics.median(figures)

    def ratio(self, others: list[float], memos: list[float]) -> float:
        """Ratio of memo's figure to the other tool's."""
        if self is Statistic.BEST:
            return max(memos) / max(others)
        return statistics.median(m / o for o, m in zip(others, memos, strict=True))


@dataclass(frozen=True)
class Comparison:
    """Two ways to measure the same thing, each giving named figures in MB/s (10^6 bytes)."""

    name: str
    other: Callable[[], Figures]
    memo: Callable[[], Figures]
    #: Over the rounds.
    statistic: Statistic
    #: Largest relative difference; `None` where the two do not do the same thing, as the remark says.
    limit: float | None
    #: How the two figures are made comparable, and what differs all the same.
    remark: str


def run(*command: str | Path) -> str:
    """Output of the command; the whole script ends if the command fails."""
    done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare_memo: {' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout + done.stderr


def build_stream(folder: Path) -> Path:
    """Build STREAM in C."""
    program = folder / "stream"
    run("gcc", *STREAM_OPTIONS, "-o", program, ROOT / "crates" / "memo" / "compare" / "stream.c")
    return program


class Tools:
    """One measurement of each tool on one CPU."""

    def __init__(self, memo: Path, stream: Path, cpu: int, nice: int, folder: Path) -> None:
        """Programs, the CPU for all of them, their niceness, a folder for results."""
        self.memo, self.stream, self.cpu, self.result = memo, stream, str(cpu), folder / "memo.json"
        self.pin = ["nice", "-n", str(nice), "taskset", "-c", self.cpu]

    def pinned(self, *command: str | Path) -> str:
        """Output of a tool that runs on the CPU."""
        return run(*self.pin, *command)

    def points(self, pages: str, *arguments: str) -> list[Point]:
        """The points of one cxlab-memo command."""
        self.pinned(self.memo, *arguments, "--pages", pages, "--json", self.result)
        return msgspec.json.decode(self.result.read_bytes(), type=Points).points

    def c_stream(self, pages: str) -> Figures:
        """STREAM's best rates."""
        lines = self.pinned(self.stream, str(SIZE_MIB << 20), str(REPEATS), pages).splitlines()
        return {name: float(rate) for name, rate in (line.split() for line in lines)}

    def memo_stream(self, pages: str) -> Figures:
        """STREAM's best rates, by cxlab-memo."""
        points = self.points(
            pages, "stream", "--threads", "1", "--size", f"{SIZE_MIB}MiB", "--repeats", str(REPEATS)
        )
        return {point.kernel: point.bandwidth_mb_s for point in points}

    def mbw(self) -> Figures:
        """Copied bytes of memcpy, as mbw counts them (MiB, one direction)."""
        rates = re.findall(r"^\d+\tMethod: MEMCPY.*Copy: ([\d.]+) MiB/s", self.mbw_text(), re.MULTILINE)
        return {"copied": statistics.median(map(float, rates)) * MIB_IN_MB}

    def mbw_text(self) -> str:
        """Seven copies by memcpy."""
        return self.pinned("mbw", "-q", "-t", "0", "-n", "7", str(SIZE_MIB))

    def memo_copy(self) -> Figures:
        """Lines read = lines written without reading them: a copy moves each byte twice."""
        mix = ["--mix", "1:1", "--store", "nontemporal"]
        return {"copied": self.bandwidth("4KiB", *mix) / 2}

    def stress_ng(self) -> Figures:
        """Sequential 128-bit reads."""
        memory = ["--memrate", "1", "--memrate-bytes", f"{SIZE_MIB}M"]
        text = self.pinned("stress-ng", *memory, "--timeout", "3", "--metrics")
        found = re.search(r"([\d.]+) read128 MB per sec", text)
        if found is None:
            sys.exit(f"compare_memo: stress-ng prints no read128 rate:\n{text}")
        return {"read": float(found[1]) * MIB_IN_MB}

    def sysbench(self) -> Figures:
        """Sequential stores of words, as sysbench counts them (MiB, one direction)."""
        memory = [f"--memory-block-size={SIZE_MIB}M", "--memory-oper=write", "--memory-total-size=100T"]
        text = self.pinned("sysbench", "memory", *memory, "--time=2", "run")
        found = re.search(r"\(([\d.]+) MiB/sec\)", text)
        if found is None:
            sys.exit(f"compare_memo: sysbench prints no rate:\n{text}")
        return {"stored": float(found[1]) * MIB_IN_MB}

    def memo_store(self) -> Figures:
        """Each stored line is read to be owned, and written back: half of what moves is stored."""
        return {"stored": self.bandwidth("4KiB", "--instruction", "st") / 2}

    def memo_read(self) -> Figures:
        """Sequential reads of whole lines."""
        return {"read": self.bandwidth("4KiB", "--instruction", "ld")}

    def bandwidth(self, pages: str, *what: str) -> float:
        """One sequential bandwidth [MB/s]."""
        size = ["--threads", "1", "--size", f"{2 * SIZE_MIB}MiB"]
        point = self.points(pages, "bandwidth", *size, "--window", "50ms", "--repeats", "7", *what)[0]
        return point.bandwidth_mb_s


def comparisons(tools: Tools) -> list[Comparison]:
    """All comparisons, by tool and kind of pages."""
    streams = [
        Comparison(
            f"STREAM in C, {pages} pages",
            lambda pages=pages: tools.c_stream(pages),  # type: ignore[misc]
            lambda pages=pages: tools.memo_stream(pages),  # type: ignore[misc]
            Statistic.BEST,
            0.05,
            f"both: the best repeat but the first of a round; gcc {' '.join(STREAM_OPTIONS)}",
        )
        for pages in ("4KiB", "2MiB")
    ]
    return [
        *streams,
        Comparison(
            "mbw, memcpy",
            tools.mbw,
            tools.memo_copy,
            Statistic.MEDIAN,
            None,
            "mbw counts a copied byte once; such a memcpy stores past the caches: memo's mix 1:1, halved. "
            "glibc's takes up to four pages in turn and prefetches in each (large_memcpy); memo reads and "
            "writes one stream each",
        ),
        Comparison(
            "stress-ng, memrate read128",
            tools.stress_ng,
            tools.memo_read,
            Statistic.MEDIAN,
            0.10,
            "sequential loads; stress-ng's MB are MiB",
        ),
        Comparison(
            "sysbench, memory write",
            tools.sysbench,
            tools.memo_store,
            Statistic.MEDIAN,
            None,
            "sysbench counts a stored byte once; memo counts its line's read and write: halved. "
            "sysbench stores words of 8 B, eight to a line; memo stores vectors",
        ),
    ]


def compare(comparison: Comparison, rounds: int) -> tuple[list[Figures], list[Figures]]:
    """The figures of each round; who begins changes from round to round."""
    others: list[Figures] = []
    memos: list[Figures] = []
    console = Console(stderr=True)
    shown = track(range(rounds), comparison.name, console=console, disable=not console.is_terminal)
    for index in shown:
        turns = [(others, comparison.other), (memos, comparison.memo)]
        for figures, measure in turns if index % 2 == 0 else reversed(turns):
            figures.append(measure())
    return others, memos


def main() -> None:
    """Runs all comparisons; exit status 1 if one is past its limit."""
    parser = argparse.ArgumentParser(
        description="cxlab-memo beside STREAM in C, mbw, stress-ng, sysbench, in turns"
    )
    parser.add_argument("--rounds", type=int, default=9, help="number of turns of each tool (default 9)")
    parser.add_argument(
        "--cpu",
        type=int,
        default=min(os.sched_getaffinity(0)),
        help="CPU that runs all tools (default: the first one allowed)",
    )
    parser.add_argument(
        "--nice", type=int, default=0, help="niceness of all tools; below 0 needs root (default 0)"
    )
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: 1 or more")
    if arguments.cpu not in os.sched_getaffinity(0):
        parser.error(f"--cpu: one of {sorted(os.sched_getaffinity(0))}")
    if not MEMO.is_file():
        sys.exit(f"compare_memo: {MEMO} is not built: make build")
    missing = [
        tool for tool in ("gcc", "mbw", "stress-ng", "sysbench", "taskset") if shutil.which(tool) is None
    ]
    if missing:
        sys.exit(
            f"compare_memo: missing: {', '.join(missing)}. "
            "apt-get install gcc mbw stress-ng sysbench util-linux"
        )
    table = Table(
        "compared with", "figure", "", "other [MB/s]", "memo [MB/s]", "memo / other", "limit", "", box=None
    )
    past = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = Tools(MEMO, build_stream(folder), arguments.cpu, arguments.nice, folder)
        for comparison in comparisons(tools):
            others, memos = compare(comparison, arguments.rounds)
            for figure in others[0]:
                theirs, ours = [o[figure] for o in others], [m[figure] for m in memos]
                ratio = comparison.statistic.ratio(theirs, ours)
                limit, verdict = "", "not alike"
                if comparison.limit is not None:
                    within = abs(ratio - 1) <= comparison.limit
                    limit, verdict = f"{comparison.limit:.0%}", "within" if within else "PAST"
                    past |= not within
                table.add_row(
                    comparison.name,
                    figure,
                    comparison.statistic.value,
                    f"{comparison.statistic.of(theirs):.0f}",
                    f"{comparison.statistic.of(ours):.0f}",
                    f"{ratio:.3f}",
                    limit,
                    verdict,
                )
            print(f"{comparison.name}: {comparison.remark}")
    Console(width=120).print(table)
    print(f"{arguments.rounds} rounds, CPU {arguments.cpu}, arrays of {SIZE_MIB} MiB")
    if (load := os.getloadavg()[1]) > 1.5:
        print(
            f"load average {load:.0f}, of which the tools are 1: other programs take bandwidth in their own "
            "time, so two tools that take turns do not see the same machine; run this on a quiet one"
        )
    sys.exit(1 if past else 0)


if __name__ == "__main__":
    main()
