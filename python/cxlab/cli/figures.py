"""The figures of runs as tables that fit a terminal of 80 columns: rows are figures, columns are compared.

::

    run:            a few lines: time, where it went, each memory
    run --stats:    columns are a run's nodes; then every statistic
    demo:           columns are runs, a block of rows for each node
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cxlab import model, output
from cxlab.border import NodeSummary, RunResult, Sampling
from cxlab.cli import statistics
from cxlab.compare import parts

#: A line of the caches [bytes].
LINE_BYTES = 64
#: A part of the time that is less is not named.
LEAST_SHARE = 0.01
#: What a table's columns are of.
T = TypeVar("T")


@dataclass(frozen=True)
class Figure(Generic[T]):
    """One row: what it says, and its value in a column; None is left empty."""

    label: str
    value: Callable[[T], str | None]


def seconds(value: float) -> str:
    """With the unit that leaves one to three digits before the point."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value / 1e-9:.4g} ns" if value > 0 else "0 s"


def decimal(value: float, unit: str) -> str:
    """With a decimal prefix: 12.3 MB."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.2f} {prefix}{unit}"
    return f"{value:.0f} {unit}"


def _millions(count: int) -> str:
    return f"{count / 1e6:.3f} M"


def _shares(result: RunResult) -> str:
    time = result.time
    parts = {"busy": time.busy_s, "idle": time.idle_s, "I/O": time.io_s}
    whole = sum(parts.values())
    return ", ".join(f"{name} {part / whole:.1%}" for name, part in parts.items()) if whole else ""


def _instructions(result: RunResult) -> int:
    return result.instructions.user + result.instructions.kernel


def _nanoseconds(value: float) -> str | None:
    return f"{value:.1f} ns" if value >= LEAST_STAGE_NS else None


def _in_the_core(node: NodeSummary) -> float:
    """What a load waits before it leaves its core [ns]: for a translation, or for a fill buffer."""
    return sum(node.stages_ns.get(name, 0.0) for name, place, _ in model.stages() if place == "core")


def _memory_latency(node: NodeSummary) -> str | None:
    """What a load takes once it has left its core."""
    mean = node.mean_load_latency_ns
    return None if mean is None else f"{mean - _in_the_core(node):.1f} ns"


def _other_lines(node: NodeSummary) -> int:
    """Lines read for walks of page tables, and those that a part of is written."""
    return node.read_bytes // LINE_BYTES - node.loads - node.stores - node.prefetches


PROGRAM: Sequence[Figure[RunResult]] = (
    Figure("simulated time", lambda d: seconds(d.simulated_seconds)),
    Figure("  busy", lambda d: seconds(d.time.busy_s)),
    Figure("  idle", lambda d: seconds(d.time.idle_s) if d.time.idle_s else None),
    Figure("  I/O", lambda d: seconds(d.time.io_s) if d.time.io_s else None),
    Figure("instructions", lambda d: _millions(_instructions(d))),
    Figure("IPC", lambda d: f"{d.ipc:.3f}"),
)
BANDWIDTH: Figure[NodeSummary] = Figure(
    "bandwidth", lambda n: decimal(n.bandwidth_mb_s * 1e6, "B/s") if n.bandwidth_mb_s else None
)
TRAFFIC: Sequence[Figure[NodeSummary]] = (
    Figure("read", lambda n: decimal(n.read_bytes, "B") if n.read_bytes else None),
    Figure("written", lambda n: decimal(n.write_bytes, "B") if n.write_bytes else None),
    Figure("lines read for loads", lambda n: f"{n.loads:,}" if n.loads else None),
    Figure("lines read to own", lambda n: f"{n.stores:,}" if n.stores else None),
    Figure("lines read ahead", lambda n: f"{n.prefetches:,}" if n.prefetches else None),
    Figure("lines read for page walks", lambda n: f"{_other_lines(n):,}" if _other_lines(n) else None),
)
#: A load's latency in two parts: a wait in the core says nothing of the memory.
MEMORY_LATENCY: Figure[NodeSummary] = Figure("memory latency of loads", _memory_latency)
WAIT_IN_CORE: Figure[NodeSummary] = Figure("wait in the core", lambda n: _nanoseconds(_in_the_core(n)))
#: Below this a stage's mean is not worth a row [ns].
LEAST_STAGE_NS = 0.05


def _stages(nodes: Sequence[NodeSummary], *, in_the_core: bool) -> list[Figure[NodeSummary]]:
    """A row for each stage that takes time in any of the columns, in the order of a request's way."""

    def row(name: str) -> Figure[NodeSummary]:
        return Figure(f"  {name}", lambda node: _nanoseconds(node.stages_ns.get(name, 0.0)))

    def taken(name: str) -> bool:
        return any(node.stages_ns.get(name, 0.0) >= LEAST_STAGE_NS for node in nodes)

    return [
        row(name) for name, place, _ in model.stages() if (place == "core") is in_the_core and taken(name)
    ]


def _rows(table: Table, figures: Sequence[Figure[T]], columns: Sequence[T]) -> None:
    for figure in figures:
        cells = [figure.value(column) for column in columns]
        if any(cell is not None for cell in cells):
            style = "dim" if figure.label.startswith("  ") else None
            table.add_row(figure.label, *(cell or "" for cell in cells), style=style)


def show(console: Console, title: str, result: RunResult, *, everything: bool) -> None:
    """What the model says of one run: in a few lines, or everything."""
    console.print()
    console.print(title, style="bold", markup=False)
    if not everything:
        console.print(brief(result), end="")
        return
    console.print(program(result), end="")
    console.print(nodes(result))
    if result.statistics is not None:
        for line in statistics.lines(result.statistics):
            console.print(line, markup=False, soft_wrap=True)


def brief(result: RunResult) -> Text:
    """The time, where it went, and what each memory did."""
    ran = f"{_millions(_instructions(result))} instructions, IPC {result.ipc:.3f}"
    lines = [("simulated time", seconds(result.simulated_seconds), ran)]
    if result.sampling is not None:
        lines.append(("sample", f"{result.sampling.windows} windows", _interval(result.sampling)))
    lines.append(("where it went", "", where_it_went(result)))
    for name, node in result.nodes.items():
        lines.append((f"node {name}", BANDWIDTH.value(node) or "idle", _load(node)))
    return _aligned(lines)


def where_it_went(result: RunResult) -> str:
    """Parts of the time, the largest first."""
    found = parts.parts(result)
    whole = sum(found.values())
    if whole <= 0:
        return "no time passed"
    largest = sorted(found, key=lambda part: -found[part])
    shares = {part: found[part] / whole for part in largest}
    return ", ".join(
        f"{parts.label(part)} {share:.0%}" for part, share in shares.items() if share >= LEAST_SHARE
    )


def _load(node: NodeSummary) -> str:
    """What a load that comes from the memory takes, there and before."""
    there = _memory_latency(node)
    if there is None:
        return ""
    wait = _in_the_core(node)
    before = f", after {wait:.1f} ns in the core" if wait >= 1 else ""
    return f"a load takes {there}{before}"


def program(result: RunResult) -> Text:
    """What became of the program's time, in a few aligned lines."""
    split = f"user {_millions(result.instructions.user)}, kernel {_millions(result.instructions.kernel)}"
    lines = [
        ("simulated time", seconds(result.simulated_seconds), _shares(result)),
        ("instructions", _millions(_instructions(result)), split),
        ("IPC", f"{result.ipc:.3f}", "instructions for each busy cycle"),
    ]
    if result.sampling is not None:
        lines.append(("sample", f"{result.sampling.windows} windows", _interval(result.sampling)))
    return _aligned(lines)


def _aligned(lines: Sequence[tuple[str, str, str]]) -> Text:
    """Lines of a label, a value and what is to say of it; the latter alone where there is no value."""
    text = Text()
    for label, value, more in lines:
        text.append(f"  {label:<16}")
        if value:
            text.append(f"{value:>11}   ", style="bold")
        text.append(f"{more}\n", style="dim" if value else "")
    return text


def _interval(sampling: Sampling) -> str:
    """What is known of the simulated time."""
    interval = (sampling.intervals or {}).get("simulated_seconds")
    if interval is None:
        return "too few for an interval"
    low, high = interval
    few = "simulated_seconds" in sampling.too_few_windows_for
    doubt = "; dominated by a few windows: use a smaller `every`" if few else ""
    return f"simulated time in {seconds(low)} .. {seconds(high)} ({sampling.confidence:.0%}){doubt}"


def nodes(result: RunResult) -> Table:
    """A run's nodes side by side; a load's latency in the order of its way."""
    columns = list(result.nodes.values())
    table = output.table(["memory", *result.nodes], plain=True)
    _rows(table, [BANDWIDTH, *TRAFFIC, WAIT_IN_CORE, *_stages(columns, in_the_core=True)], columns)
    _rows(table, [MEMORY_LATENCY, *_stages(columns, in_the_core=False)], columns)
    return table


def compared(runs: Mapping[str, RunResult]) -> Table:
    """Runs of one program side by side: how much slower than the first, and what each memory did."""
    results = list(runs.values())
    first = results[0].simulated_seconds
    slower: Figure[RunResult] = Figure("times the first", lambda d: f"{d.simulated_seconds / first:.2f}")
    table = output.table(["", *runs], plain=True)
    _rows(table, [PROGRAM[0], slower, *PROGRAM[1:]], results)
    for name in results[0].nodes:
        columns = [result.nodes[name] for result in results]
        table.add_section()
        table.add_row(Text(f"node {name}", style="bold"))
        _rows(table, [BANDWIDTH, WAIT_IN_CORE, MEMORY_LATENCY], columns)
    return table
