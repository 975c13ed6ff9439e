"""A comparison for people and for programs: a sentence for each column, one table, one JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from cxlab import output
from cxlab.border import RunResult
from cxlab.compare.load_latency import MEMORY_LATENCY, WAIT_IN_CORE, memory_latency_ns, wait_in_core_ns
from cxlab.compare.parts import Kind, label, order, parts
from cxlab.compare.sampled_parts import ends, is_sampled, longer
from cxlab.compare.slowdown import Column, Slowdown, against
from cxlab.sampled import UNTOLD, Term, interval

#: A kind that is less of the difference is not worth a word.
LEAST_SHARE = 0.01
#: Less than this apart is as fast, where no interval says more.
LEAST_SLOWDOWN = 0.005
#: In the folder of the columns' runs, what `--json` writes.
COMPARISON = "comparison.json"
NO_INTERVAL = "one exact run of each: no interval"
TOO_FEW = "too few windows for an interval"


def sentence(first: Column, column: Column) -> str:
    """How much slower a column is, why, and how sure that is."""
    slowdown = against(first, column)
    how = f"{how_much(slowdown.times)} on {column.label} than on {first.label}"
    told = sure(slowdown, is_sampled=any(is_sampled(one) for one in (first, column)))
    if abs(slowdown.times - 1) < LEAST_SLOWDOWN:
        times = f"{slowdown.times:.3f} times its time"
        return f"{column.label} is as fast as {first.label} ({times}; {told})"
    found = slowdown.interval
    if found is not None and found.low <= 1 <= found.high:
        return f"no difference between {column.label} and {first.label} can be told ({told})"
    return f"{how}: {_why(slowdown)} ({told})"


def how_much(times: float) -> str:
    """A ratio of times in words."""
    return f"{times:.2f} times slower" if times >= 1 else f"{1 / times:.2f} times faster"


def sure(slowdown: Slowdown, *, is_sampled: bool) -> str:
    """The interval, or why there is none."""
    found = slowdown.interval
    if found is None:
        return TOO_FEW if is_sampled else NO_INTERVAL
    return f"{found.low:.2f} to {found.high:.2f} times its time, {found.confidence:.0%}"


def _why(slowdown: Slowdown) -> str:
    """Kinds by their share of the difference. What shortens the time has a minus."""
    difference = sum(slowdown.kinds.values())
    shares = {kind: longer / difference for kind, longer in slowdown.kinds.items()}
    named = sorted(
        (kind for kind in Kind if abs(shares[kind]) >= LEAST_SHARE), key=lambda kind: -shares[kind]
    )
    return ", ".join(f"{shares[kind] * 100:.0f} % {kind.value}".replace("-", "−") for kind in named)


#: Below this a share of the first column's time is not shown.
LEAST_SHOWN = 0.0005


def table(columns: Sequence[Column]) -> Table:
    """Make a table of each column's time by part, in shares of the first one's time, with its slowdown.

    If columns are sampled, the first has its shares, and the others how much longer each is, with
    intervals.
    """
    first = columns[0]
    made = output.table(["times the first", *(column.label for column in columns)], plain=True)
    slowdowns = [against(first, column) for column in columns]
    sampled = any(is_sampled(column) for column in columns)
    totals = [_total(slowdown, is_sampled=sampled) for slowdown in slowdowns[1:]]
    made.add_row("total", "1.000", *totals, style="bold")
    shares = _shares(columns)
    for part in order({part for of in shares for part in of}):
        cells = [of.get(part, 0.0) for of in shares]
        if max(cells) < LEAST_SHOWN:
            continue
        if sampled:
            told = [
                _told(first, column, part, cell - cells[0])
                for column, cell in zip(columns, cells, strict=True)
            ]
            made.add_row(
                f"  {label(part)}", _between(ends(first, first, part), f"{cells[0]:.3f}", "{:.3f}"), *told[1:]
            )
        else:
            longer_by = [f"{cell:.3f}  {cell - cells[0]:+.3f}" for cell in cells[1:]]
            made.add_row(f"  {label(part)}", f"{cells[0]:.3f}", *longer_by)
    return made


def _total(slowdown: Slowdown, *, is_sampled: bool) -> str:
    """Show the total of a column. That of sampled runs has an interval, or is untold."""
    if not is_sampled:
        return f"{slowdown.times:.3f}  {slowdown.times - 1:+.3f}"
    found = slowdown.interval
    return _between(None if found is None else (found.low, found.high), f"{slowdown.times:.3f}", "{:.3f}")


def _told(first: Column, column: Column, part: str, more: float) -> str:
    """Text of how much longer a part of a column is, with its interval if the column is sampled."""
    return _between(longer(first, column, part), f"{more:+.3f}", "{:+.3f}")


def _between(found: tuple[float, float] | None, value: str, form: str) -> str:
    return UNTOLD if found is None else f"{value} ({form.format(found[0])} .. {form.format(found[1])})"


def _shares(columns: Sequence[Column]) -> list[dict[str, float]]:
    """The parts of each column over the first one's whole time, in the order of a table."""
    first = [parts(result) for result in columns[0].results]
    whole = sum(sum(of.values()) for of in first)
    each = [_added([parts(result) for result in column.results]) for column in columns]
    return [{part: seconds / whole for part, seconds in of.items()} for of in each]


def _added(of: Sequence[dict[str, float]]) -> dict[str, float]:
    return {
        part: sum(one.get(part, 0.0) for one in of) for part in dict.fromkeys(p for one in of for p in one)
    }


def document(columns: Sequence[Column]) -> dict[str, Any]:
    """The comparison for programs.

    `because` has, for each part, how much longer it takes than in the first column, as a share of the first
    column's time. The sum is `slowdown` - 1. `kinds` has the same difference by kind, with the same sum.
    """
    return {"columns": [_column(columns[0], column) for column in columns]}


def _column(first: Column, column: Column) -> dict[str, Any]:
    slowdown = against(first, column)
    found = slowdown.interval
    return {
        "label": column.label,
        "machine": column.machine,
        "placement": column.placement,
        "how": column.how,
        "simulated_seconds": [result.simulated_seconds for result in column.results],
        "slowdown": slowdown.times,
        "interval": None if found is None else [found.low, found.high],
        "confidence": None if found is None else found.confidence,
        "because": dict(slowdown.because),
        **_intervals(first, column, slowdown),
        "kinds": {kind.name.lower(): longer for kind, longer in slowdown.kinds.items()},
        "parts_s": _added([parts(result) for result in column.results]),
        "nodes": _nodes(column.results[0]),
        "folder": None if column.folder is None else str(column.folder),
    }


def _intervals(first: Column, column: Column, slowdown: Slowdown) -> dict[str, Any]:
    """Return the interval of each part of `because` for sampled columns; null if too few windows tell of
    it."""
    if not (is_sampled(first) or is_sampled(column)):
        return {}
    return {"because_intervals": {part: longer(first, column, part) for part in slowdown.because}}


def has_untold_parts(columns: Sequence[Column]) -> bool:
    """Whether too few windows tell of a part of a sampled column."""
    found = (_intervals(columns[0], column, against(columns[0], column)) for column in columns)
    return any(None in intervals.values() for one in found for intervals in one.values())


def _nodes(result: RunResult) -> dict[str, Any]:
    """Return the figures of each memory."""
    return {name: _node(result, name) for name in result.nodes}


def _node(result: RunResult, name: str) -> dict[str, Any]:
    """Return the figures of a memory. In a sampled run each has an interval; null if too few windows tell
    of it."""
    of, sampling = result.nodes[name], result.sampling
    figures = {
        "bandwidth_mb_s": of.bandwidth_mb_s,
        "load_latency_ns": of.mean_load_latency_ns,
        "wait_in_core_ns": wait_in_core_ns(of),
        "memory_latency_ns": memory_latency_ns(of),
    }
    if sampling is None:
        return figures
    terms = {
        "bandwidth_mb_s": [Term("bandwidth_mb_s")],
        "load_latency_ns": [Term("mean_load_latency_ns")],
        "wait_in_core_ns": WAIT_IN_CORE,
        "memory_latency_ns": MEMORY_LATENCY,
    }
    intervals = {
        key: interval(sampling, [Term(f"nodes.{name}.{term.path}", term.factor) for term in found])
        for key, found in terms.items()
    }
    return {
        **{key: None if intervals[key] is None else value for key, value in figures.items()},
        "intervals": intervals,
    }
