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

from cxlab import model, output, sampled
from cxlab.border import NodeSummary, RunResult, Sampling
from cxlab.cli import checked, statistics
from cxlab.compare import parts
from cxlab.compare.load_latency import MEMORY_LATENCY, WAIT_IN_CORE, memory_latency_ns, wait_in_core_ns
from cxlab.sampled import UNTOLD, Term, told

#: A line of the caches [bytes].
LINE_BYTES = 64
#: A part of the time that is less is not named.
LEAST_SHARE = 0.01
#: What a table's columns are of.
T = TypeVar("T")


@dataclass(frozen=True)
class Seen(Generic[T]):
    """The subject of a column, with the sampling that its numbers come from."""

    of: T
    sampling: Sampling | None
    #: of its numbers' paths in the summary
    prefix: str = ""


@dataclass(frozen=True)
class Figure(Generic[T]):
    """One row: what it says, and its value in a column; None is left empty."""

    label: str
    value: Callable[[T], float | None]
    text: Callable[[float], str]
    #: the numbers of the summary that it is the sum of; none: it is known exactly in a sampled run too
    terms: Sequence[Term] = ()

    def cell(self, seen: Seen[T]) -> str | None:
        """Text of the value; in a sampled run with its interval."""
        value = self.value(seen.of)
        if value is None:
            return None
        terms = [Term(seen.prefix + term.path, term.factor) for term in self.terms]
        return told(seen.sampling, terms, value, self.text)


def seconds(value: float) -> str:
    """A time in the unit that leaves one to three digits before the point."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value / 1e-9:.4g} ns" if value > 0 else "0 s"


def decimal(value: float, unit: str) -> str:
    """A value with a decimal prefix: 12.3 MB."""
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


def _nanoseconds(value: float) -> str:
    return f"{value:.1f} ns"


def _not_zero(value: float) -> float | None:
    return value or None


def _in_the_core(node: NodeSummary) -> float:
    """Time that a load waits before it leaves its core, for a translation or for a fill buffer [ns]."""
    return wait_in_core_ns(node) or 0.0


def _other_lines(node: NodeSummary) -> int:
    """Lines read for walks of page tables, and those that a part of is written."""
    return node.read_bytes // LINE_BYTES - node.loads - node.stores - node.prefetches


def _bytes(value: float) -> str:
    return decimal(value, "B")


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _time(label: str, path: str, value: Callable[[RunResult], float | None]) -> Figure[RunResult]:
    return Figure(label, value, seconds, (Term(path),))


def _lines(label: str, path: str, value: Callable[[NodeSummary], int]) -> Figure[NodeSummary]:
    return Figure(label, lambda n: _not_zero(value(n)), _count, (Term(path),))


IPC: Figure[RunResult] = Figure("IPC", lambda d: d.ipc, lambda ipc: f"{ipc:.3f}", (Term("ipc"),))
PROGRAM: Sequence[Figure[RunResult]] = (
    _time("simulated time", "simulated_seconds", lambda d: d.simulated_seconds),
    _time("  busy", "time.busy_s", lambda d: d.time.busy_s),
    _time("  idle", "time.idle_s", lambda d: _not_zero(d.time.idle_s)),
    _time("  I/O", "time.io_s", lambda d: _not_zero(d.time.io_s)),
    Figure("instructions", _instructions, lambda count: _millions(int(count))),
    IPC,
)
BANDWIDTH: Figure[NodeSummary] = Figure(
    "bandwidth",
    lambda n: _not_zero(n.bandwidth_mb_s),
    lambda value: decimal(value * 1e6, "B/s"),
    (Term("bandwidth_mb_s"),),
)
TRAFFIC: Sequence[Figure[NodeSummary]] = (
    Figure("read", lambda n: _not_zero(n.read_bytes), _bytes, (Term("read_bytes"),)),
    Figure("written", lambda n: _not_zero(n.write_bytes), _bytes, (Term("write_bytes"),)),
    _lines("lines read for loads", "loads", lambda n: n.loads),
    _lines("lines read to own", "stores", lambda n: n.stores),
    _lines("lines read ahead", "prefetches", lambda n: n.prefetches),
    Figure(
        "lines read for page walks",
        lambda n: _not_zero(_other_lines(n)),
        _count,
        (Term("read_bytes", 1 / LINE_BYTES), Term("loads", -1), Term("stores", -1), Term("prefetches", -1)),
    ),
)
#: Below this a stage's mean is not worth a row [ns].
LEAST_STAGE_NS = 0.05


def _long_enough(value: float) -> float | None:
    return value if value >= LEAST_STAGE_NS else None


def _memory_latency() -> Figure[NodeSummary]:
    """Time that a load takes once it has left its core."""

    return Figure("memory latency of loads", memory_latency_ns, _nanoseconds, tuple(MEMORY_LATENCY))


def _wait_in_core() -> Figure[NodeSummary]:
    """Time that a load waits before it leaves its core, which says nothing of the memory."""
    terms = tuple(WAIT_IN_CORE)
    return Figure("wait in the core", lambda n: _long_enough(_in_the_core(n)), _nanoseconds, terms)


def _stages(nodes: Sequence[Seen[NodeSummary]], *, in_the_core: bool) -> list[Figure[NodeSummary]]:
    """A row for each stage that takes time in any of the columns, in the order of a request's way."""

    def row(name: str) -> Figure[NodeSummary]:
        def value(node: NodeSummary) -> float | None:
            return _long_enough(node.stages_ns.get(name, 0.0))

        return Figure(f"  {name}", value, _nanoseconds, (Term(f"stages_ns.{name}"),))

    def taken(name: str) -> bool:
        return any(node.of.stages_ns.get(name, 0.0) >= LEAST_STAGE_NS for node in nodes)

    return [
        row(name) for name, place, _ in model.stages() if (place == "core") is in_the_core and taken(name)
    ]


def _nodes_of(result: RunResult) -> dict[str, Seen[NodeSummary]]:
    """Summary of each node, by the node's name."""
    return {name: Seen(node, result.sampling, f"nodes.{name}.") for name, node in result.nodes.items()}


def _rows(table: Table, figures: Sequence[Figure[T]], columns: Sequence[Seen[T]]) -> None:
    for figure in figures:
        cells = [figure.cell(column) for column in columns]
        if any(cell is not None for cell in cells):
            style = "dim" if figure.label.startswith("  ") else None
            table.add_row(figure.label, *(cell or "" for cell in cells), style=style)


def show(console: Console, title: str, result: RunResult, *, everything: bool) -> None:
    """Print the result of one run, in a few lines or in full."""
    console.print()
    console.print(title, style="bold", markup=False)
    width = output.width(console)
    if not everything:
        console.print(brief(result, width), end="")
        console.print(_checked(result, width), end="")
        return
    console.print(program(result, width), end="")
    console.print(_checked(result, width), end="")
    console.print(nodes(result), soft_wrap=False, width=width)
    if result.statistics is not None:
        for line in statistics.lines(result.statistics, width):
            console.print(line, markup=False, soft_wrap=True)


def brief(result: RunResult, width: int = output.WIDE) -> Text:
    """The time, where it went, and what each memory did."""
    ran = f"{_millions(_instructions(result))} instructions, IPC {_ipc(result)}"
    lines = [("simulated time", seconds(result.simulated_seconds), ran)]
    if result.sampling is not None:
        lines.append(("sample", f"{result.sampling.windows} windows", _interval(result.sampling)))
    lines.append(("where it went", "", where_it_went(result)))
    for name, node in _nodes_of(result).items():
        lines.append(_node_line(f"node {name}", BANDWIDTH.cell(node) or "idle", _load(node)))
    return _aligned(lines, width)


def _checked(result: RunResult, width: int) -> Text:
    """The line about --check, empty without --check."""
    if result.checked is None:
        return Text()
    return _aligned([("checked", "", checked.sentence(result.checked))], width)


def _ipc(result: RunResult) -> str:
    return IPC.cell(Seen(result, result.sampling)) or UNTOLD


def _node_line(name: str, bandwidth: str, load: str) -> tuple[str, str, str]:
    """A figure with its interval is longer than its column."""
    figure, _, interval = bandwidth.partition(" (")
    return name, figure, ", ".join(filter(None, (f"({interval}" if interval else "", load)))


def where_it_went(result: RunResult) -> str:
    """Parts of the time, the largest first."""
    found = parts.parts(result)
    whole = sum(found.values())
    if whole <= 0:
        return "no time passed"
    largest = sorted(found, key=lambda part: -found[part])
    shares = {part: found[part] / whole for part in largest}
    return ", ".join(
        f"{parts.label(part)} {told(result.sampling, [_share_of(part)], share, '{:.0%}'.format)}"
        for part, share in shares.items()
        if share >= LEAST_SHARE
    )


def _share_of(part: str) -> Term:
    """Place of the interval of a part's share of the time (crates/model/src/summary/cpi_stack.rs)."""
    return Term(f"where_it_went.nodes.{part}" if "." in part else f"where_it_went.{part}")


def _load(node: Seen[NodeSummary]) -> str:
    """Latency of a load that comes from the memory, and its wait in the core."""
    there = _memory_latency().cell(node)
    if there is None:
        return ""
    if there == UNTOLD:
        return f"a load takes {UNTOLD}"
    wait = _wait_in_core().cell(node)
    before = f", after {wait} in the core" if wait is not None and _in_the_core(node.of) >= 1 else ""
    return f"a load takes {there}{before}"


def program(result: RunResult, width: int = output.WIDE) -> Text:
    """The program's time, instructions and IPC, in a few aligned lines."""
    split = f"user {_millions(result.instructions.user)}, kernel {_millions(result.instructions.kernel)}"
    lines = [
        ("simulated time", seconds(result.simulated_seconds), _shares(result)),
        ("instructions", _millions(_instructions(result)), split),
        ("IPC", f"{result.ipc:.3f}" if result.sampling is None else "", _of_ipc(result)),
    ]
    if result.sampling is not None:
        lines.append(("sample", f"{result.sampling.windows} windows", _interval(result.sampling)))
    return _aligned(lines, width)


def _of_ipc(result: RunResult) -> str:
    what = "instructions for each busy cycle"
    return what if result.sampling is None else f"{_ipc(result)}, {what}"


def _aligned(lines: Sequence[tuple[str, str, str]], width: int) -> Text:
    """Lines of a label, a value and what is to say of it; the latter alone where there is no value."""
    text = Text()
    for label, value, more in lines:
        name = f"  {label:<16}"
        text.append(name)
        column = f"{value:>11}   " if value else ""
        text.append(column, style="bold")
        beside = " " * len(name + column)
        told = output.wrapped(more, beside, width, first=beside)[len(beside) :]
        text.append(f"{told}\n", style="dim" if value else "")
    return text


def _interval(sampling: Sampling) -> str:
    """Confidence interval of the simulated time."""
    interval = sampled.ends(sampling, "simulated_seconds")
    if interval is None:
        return "too few for an interval"
    low, high = interval
    few = "simulated_seconds" in sampling.too_few_windows_for
    doubt = "; dominated by a few windows: give --sample more of them (a smaller `every`)" if few else ""
    return f"simulated time in {seconds(low)} .. {seconds(high)} ({sampling.confidence:.0%}){doubt}"


def nodes(result: RunResult) -> Table:
    """A run's nodes side by side; a load's latency in the order of its way."""
    columns = list(_nodes_of(result).values())
    table = output.table(["memory", *result.nodes], plain=True)
    _rows(table, [BANDWIDTH, *TRAFFIC, _wait_in_core(), *_stages(columns, in_the_core=True)], columns)
    _rows(table, [_memory_latency(), *_stages(columns, in_the_core=False)], columns)
    return table


def compared(runs: Mapping[str, RunResult]) -> Table:
    """Runs of one program side by side: how much slower than the first, and what each memory did."""
    results = list(runs.values())
    first = results[0].simulated_seconds
    slower: Figure[RunResult] = Figure(
        "times the first", lambda d: d.simulated_seconds / first, lambda times: f"{times:.2f}"
    )
    table = output.table(["", *runs], plain=True)
    _rows(table, [PROGRAM[0], slower, *PROGRAM[1:]], [Seen(result, result.sampling) for result in results])
    for name in results[0].nodes:
        columns = [_nodes_of(result)[name] for result in results]
        table.add_section()
        table.add_row(Text(f"node {name}", style="bold"))
        _rows(table, [BANDWIDTH, _wait_in_core(), _memory_latency()], columns)
    return table
