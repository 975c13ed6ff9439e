"""Sampling: how often its confidence intervals cover the figures of full detail.

::

    three programs, each recorded once in full detail   -->   the trace sampled with 20 seeds
    a seed draws where the first window is                    interval of a figure covers the full run's?

An interval of 95 % is to cover in 19 of 20 draws; 18 is what chance allows of them. Figures are all that the
summary has an interval for and that full detail has more than a hundred events of:
``.venv/bin/python -m experiments.sampling_coverage [FOLDER]``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = "detail=5k,warm=15k,every=400k"
SEEDS = 20
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
        "triad": [str(folder / "triad"), str(16 << 20)],
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


def covered(full: dict[str, Any], samples: list[dict[str, Any]]) -> dict[str, int]:
    """For each figure, in how many samples its interval covers that of the full run."""
    numbers = {name: value for name, value in leaves(full) if isinstance(value, int | float)}
    intervals = [dict(leaves(sample["sampling"]["intervals"])) for sample in samples]
    figures = [name for name, interval in intervals[0].items() if isinstance(interval, list)]
    counts = {}
    for name in figures:
        if name not in numbers or events(numbers, name) < LEAST_EVENTS:
            continue
        # A count that is known has an interval of no width; the last digits are rounding.
        within = [interval[name] for interval in intervals if isinstance(interval.get(name), list)]
        slack = 1e-9 * abs(numbers[name])
        counts[name] = sum(low - slack <= numbers[name] <= high + slack for low, high in within)
    return counts


def measure(folder: Path, name: str, program: list[str], seeds: int = SEEDS) -> dict[str, Any]:
    """One program: coverage by figure, and how wide the interval of the simulated time is."""
    trace, full = record(folder, name, program)
    samples = [sampled(folder, trace, seed) for seed in range(seeds)]
    spans = [sample["sampling"]["intervals"]["simulated_seconds"] for sample in samples]
    errors = [sample["simulated_seconds"] / full["simulated_seconds"] - 1 for sample in samples]
    return {
        "covered": covered(full, samples),
        "half_width": sum(high - low for low, high in spans) / 2 / seeds / full["simulated_seconds"],
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
        "figures with 18 or more", *(f"{sum(n >= 18 for n in of.values())} of {len(of)}" for of in all_of)
    )
    table.add_row("windows", *(str(one["windows"]) for one in results.values()))
    table.add_row("half width of simulated time", *(f"{one['half_width']:.1%}" for one in results.values()))
    table.add_row("mean error of simulated time", *(f"{one['mean_error']:+.2%}" for one in results.values()))
    console.print(table)
    for name, one in results.items():
        below = {figure: count for figure, count in one["covered"].items() if count < 18}
        console.print(f"{name}, below 18: {below or 'none'}")


if __name__ == "__main__":
    main()
