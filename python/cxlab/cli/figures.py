"""The figures of runs as tables that fit a terminal of 80 columns: rows are figures, columns are compared.

::

    run:   columns are a run's nodes          demo:  columns are runs, a block of rows for each node
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cxlab.machine.description import model

Document = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """One row: what it says, and its value in a document; None is left empty."""

    label: str
    value: Callable[[Document], str | None]


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


def _shares(document: Document) -> str:
    time = document["time"]
    whole = sum(time.values())
    names = {"busy": "busy_s", "idle": "idle_s", "I/O": "io_s"}
    return ", ".join(f"{name} {time[key] / whole:.1%}" for name, key in names.items()) if whole else ""


def _instructions(document: Document) -> int:
    count: int = document["instructions"]["user"] + document["instructions"]["kernel"]
    return count


def _latency(node: Document) -> str | None:
    mean = node["mean_load_latency_ns"]
    return None if mean is None else f"{mean:.1f} ns"


PROGRAM = (
    Figure("simulated time", lambda d: seconds(d["simulated_seconds"])),
    Figure("  busy", lambda d: seconds(d["time"]["busy_s"])),
    Figure("  idle", lambda d: seconds(d["time"]["idle_s"]) if d["time"]["idle_s"] else None),
    Figure("  I/O", lambda d: seconds(d["time"]["io_s"]) if d["time"]["io_s"] else None),
    Figure("instructions", lambda d: _millions(_instructions(d))),
    Figure("  of the kernel", lambda d: f"{d['instructions']['kernel'] / max(1, _instructions(d)):.1%}"),
    Figure("IPC", lambda d: f"{d['ipc']:.3f}"),
)
NODE = (
    Figure("bandwidth", lambda n: decimal(n["bandwidth_mb_s"] * 1e6, "B/s") if n["bandwidth_mb_s"] else None),
    Figure("read", lambda n: decimal(n["read_bytes"], "B") if n["read_bytes"] else None),
    Figure("written", lambda n: decimal(n["write_bytes"], "B") if n["write_bytes"] else None),
    Figure("loads", lambda n: f"{n['loads']:,}" if n["loads"] else None),
    Figure("stores", lambda n: f"{n['stores']:,}" if n["stores"] else None),
    Figure("mean load latency", _latency),
)
#: Below this a stage's mean is not worth a row [ns].
LEAST_STAGE_NS = 0.05


def _stages(nodes: Sequence[Document]) -> list[Figure]:
    """A row for each stage that takes time in any of the columns, in the order of a request's way."""

    def row(name: str) -> Figure:
        def value(node: Document) -> str | None:
            mean = node["stages_ns"].get(name, 0.0)
            return f"{mean:.1f} ns" if mean >= LEAST_STAGE_NS else None

        return Figure(f"  {name}", value)

    def taken(name: str) -> bool:
        return any(node["stages_ns"].get(name, 0.0) >= LEAST_STAGE_NS for node in nodes)

    return [row(name) for name, _ in model().stages() if taken(name)]


def _table(headings: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for position, heading in enumerate(headings):
        table.add_column(heading, justify="left" if position == 0 else "right", no_wrap=position == 0)
    return table


def _rows(table: Table, figures: Sequence[Figure], columns: Sequence[Document]) -> None:
    for figure in figures:
        cells = [figure.value(column) for column in columns]
        if any(cell is not None for cell in cells):
            style = "dim" if figure.label.startswith("  ") else None
            table.add_row(figure.label, *(cell or "" for cell in cells), style=style)


def show(console: Console, title: str, document: Document) -> None:
    """What the model says of one run."""
    console.print()
    console.print(title, style="bold", markup=False)
    console.print(program(document), end="")
    console.print(nodes(document))


def program(document: Document) -> Text:
    """What became of the program's time, in a few aligned lines."""
    instructions = document["instructions"]
    split = f"user {_millions(instructions['user'])}, kernel {_millions(instructions['kernel'])}"
    sampling = document.get("sampling")
    lines = [
        ("simulated time", seconds(document["simulated_seconds"]), _shares(document)),
        ("instructions", _millions(_instructions(document)), split),
        ("IPC", f"{document['ipc']:.3f}", "instructions for each busy cycle"),
    ]
    if sampling is not None:
        lines.append(("sample", f"{sampling['windows']} windows", _interval(sampling)))
    text = Text()
    for label, value, more in lines:
        text.append(f"  {label:<16}")
        text.append(f"{value:>11}", style="bold")
        text.append(f"   {more}\n", style="dim")
    return text


def _interval(sampling: Document) -> str:
    """What is known of the simulated time."""
    intervals = sampling["intervals"]
    if intervals is None or intervals["simulated_seconds"] is None:
        return "too few for an interval"
    low, high = intervals["simulated_seconds"]
    few = "simulated_seconds" in sampling["too_few_windows_for"]
    doubt = "; a few of them make much of it: a smaller every tells more" if few else ""
    return f"simulated time in {seconds(low)} .. {seconds(high)} ({sampling['confidence']:.0%}){doubt}"


def nodes(document: Document) -> Table:
    """A run's nodes side by side."""
    columns = list(document["nodes"].values())
    table = _table(["memory", *document["nodes"]])
    _rows(table, [*NODE, *_stages(columns)], columns)
    return table


def compared(runs: dict[str, Document]) -> Table:
    """Runs of one machine side by side."""
    documents = list(runs.values())
    table = _table(["", *runs])
    _rows(table, PROGRAM, documents)
    for name in documents[0]["nodes"]:
        columns = [document["nodes"][name] for document in documents]
        table.add_section()
        table.add_row(Text(f"node {name}", style="bold"))
        _rows(table, [f for f in NODE if f.label not in ("read", "written")], columns)
        _rows(table, _stages(columns), columns)
    return table
