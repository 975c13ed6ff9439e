"""Sampling: how often its confidence intervals cover the figures of full detail.

::

    three programs, each recorded once in full detail   -->   the trace sampled with 20 seeds
    a seed draws where the first window is                    interval of a figure covers the full run's?

An interval of 95 % is to cover in 19 of 20 draws; 18 is what chance allows of them. Figures are all that full
detail has more than a hundred events of; counts of instructions are known and not told by windows. A sample
names the figures that too few of its windows have seen: those intervals are not to be believed.
``.venv/bin/python -m experiments.sampling_coverage [FOLDER]``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = "detail=3k,warm=12k,every=100k"
SEEDS = 20
#: Of a figure's intervals, those that are to cover.
ENOUGH = 18 / 20
#: Fewer events than this are in few windows or none.
LEAST_EVENTS = 100
#: Shown one by one; all others as one row.
SHOWN = (
    "simulated_seconds",
    "ipc",
    "nodes.dram.loads",
    "nodes.dram.mean_load_latency_ns",
    "core.mispredictions",
)


def programs(folder: Path) -> dict[str, list[str]]:
    """Three programs: compute with branches, streams, and a real one."""
    for name in ("qsort", "triad"):
        source = ROOT / "tests" / "programs" / f"{name}.c"
        subprocess.run(["gcc", "-O2", "-pthread", "-o", folder / name, source], check=True)
    text = folder / "text"
    text.write_text("".join(f"{line * 7919 % 100003} {line * 31 % 977}\n" for line in range(12_000)))
    return {
        "qsort": [str(folder / "qsort"), "100000"],
        "triad": [str(folder / "triad"), "20", str(4 << 20)],
        "sort": ["sort", str(text)],
    }


def cxlab(*arguments: str | Path) -> None:
    """One command, quietly."""
    command = [sys.executable, "-m", "cxlab", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def record(folder: Path, name: str, program: list[str]) -> tuple[Path, dict[str, Any]]:
    """The trace of a run in full detail, and its summary."""
    trace, summary = folder / f"{name}.trace", folder / f"{name}.json"
    out = folder / f"out-{name}"
    if not trace.exists():
        cxlab("run", "--out", out, "--record", trace, "--json", summary, "--", *program)
    full: dict[str, Any] = json.loads(summary.read_bytes())
    return trace, full


def sampled(folder: Path, trace: Path, seed: int) -> dict[str, Any]:
    """The trace, sampled."""
    file = folder / f"{trace.stem}-{seed}.json"
    cxlab("replay", trace, "--sample", SAMPLE, "--sample-seed", str(seed), "--json", file)
    document: dict[str, Any] = json.loads(file.read_bytes())
    return document


def leaves(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Each interval or number of a tree, by its path."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, f"{name}.{key}" if name else key)
    elif isinstance(tree, list) and not (len(tree) == 2 and all(isinstance(x, float) for x in tree)):
        for place, value in enumerate(tree):
            yield from leaves(value, f"{name}.{place}")
    else:
        yield name, tree


def events(full: dict[str, float], figure: str) -> float:
    """How many events of the full run a figure is made of."""
    if figure.startswith("nodes."):
        node = figure.split(".")[1]
        return full[f"nodes.{node}.loads"] if "_ns" in figure else full[figure]
    return full[figure] if figure.startswith("core.") else LEAST_EVENTS


@dataclass(frozen=True)
class Coverage:
    """Of one figure, by sample that has it: whether its interval covers the truth, and is to be believed."""

    covers: tuple[bool, ...]
    believed: tuple[bool, ...]

    @property
    def suffices(self) -> bool:
        """Whether so many cover as are to."""
        return sum(self.covers) >= ENOUGH * len(self.covers)

    def __str__(self) -> str:
        """For people."""
        named = len(self.believed) - sum(self.believed)
        return f"{sum(self.covers)}" + (f", {named} named" if named else "")


def covered(full: dict[str, Any], samples: list[dict[str, Any]]) -> dict[str, Coverage]:
    """For each figure that windows tell of, how many samples cover that of the full run."""
    numbers = {name: value for name, value in leaves(full) if isinstance(value, int | float)}
    intervals = [dict(leaves(sample["sampling"]["intervals"])) for sample in samples]
    named = [set(sample["sampling"]["too_few_windows_for"]) for sample in samples]
    found = {}
    for name in [name for name in numbers if any(isinstance(of.get(name), list) for of in intervals)]:
        number = numbers[name]
        if name.startswith("instructions.") or events(numbers, name) < LEAST_EVENTS:
            continue
        # Where no window used a node there is no latency to tell.
        told = [place for place, of in enumerate(intervals) if isinstance(of.get(name), list)]
        # Of what does not vary the interval has no width: the last digits are rounding.
        slack = 1e-9 * abs(number)
        spans = [intervals[place][name] for place in told]
        covers = tuple(low - slack <= number <= high + slack for low, high in spans)
        found[name] = Coverage(covers, tuple(name not in named[place] for place in told))
    return found


def believed(figures: dict[str, Coverage]) -> str:
    """Of all intervals that are to be believed, those that cover."""
    pairs = [
        pair for one in figures.values() for pair in zip(one.covers, one.believed, strict=True) if pair[1]
    ]
    return f"{sum(covers for covers, _ in pairs) / len(pairs):.0%}" if pairs else ""


def measure(folder: Path, name: str, program: list[str], seeds: int = SEEDS) -> dict[str, Any]:
    """One program: coverage by figure, and how wide the interval of the simulated time is."""
    trace, full = record(folder, name, program)
    samples = [sampled(folder, trace, seed) for seed in range(seeds)]
    spans = [sample["sampling"]["intervals"]["simulated_seconds"] for sample in samples]
    widths = [high - low for low, high in filter(None, spans)]
    counts = [sum(sample["instructions"].values()) for sample in samples]
    known = sum(full["instructions"].values())
    errors = [sample["simulated_seconds"] / full["simulated_seconds"] - 1 for sample in samples]
    return {
        "covered": covered(full, samples),
        "half_width": sum(widths) / 2 / len(widths) / full["simulated_seconds"] if widths else None,
        "most_off": max(abs(count - known) for count in counts) / known,
        "mean_error": sum(errors) / seeds,
        "windows": samples[0]["sampling"]["windows"],
    }


def main() -> None:
    """All three, one table."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="sampling-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    results = {}
    for name, program in programs(folder).items():
        with console.status(f"{name} ..."):
            results[name] = measure(folder, name, program)
    for heading in (f"covered of {SEEDS}, {SAMPLE}", *results):
        table.add_column(heading, justify="right" if heading in results else "left")
    for figure in SHOWN:
        table.add_row(figure, *(str(one["covered"].get(figure, "")) for one in results.values()))
    all_of = [one["covered"] for one in results.values()]
    table.add_row(
        f"figures covered by {ENOUGH:.0%} or more",
        *(f"{sum(one.suffices for one in of.values())} of {len(of)}" for of in all_of),
    )
    table.add_row("all intervals that are believed", *map(believed, all_of))
    table.add_row("windows", *(str(one["windows"]) for one in results.values()))
    table.add_row(
        "half width of simulated time",
        *("" if one["half_width"] is None else f"{one['half_width']:.1%}" for one in results.values()),
    )
    table.add_row("mean error of simulated time", *(f"{one['mean_error']:+.2%}" for one in results.values()))
    table.add_row("instructions are off by, at most", *(f"{one['most_off']:.0e}" for one in results.values()))
    console.print(table)
    for name, one in results.items():
        below = "; ".join(f"{name} {of}" for name, of in one["covered"].items() if not of.suffices)
        console.print(f"{name}, below: {below or 'none'}")


if __name__ == "__main__":
    main()
