"""The report of a comparison: comparison.json in the folder of its columns' runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cxlab import model
from cxlab.compare.report import COMPARISON
from cxlab.error import Code, InputError
from cxlab.report import causes, topology
from cxlab.report.page import Facts, Report
from cxlab.report.topology import Topology


def report(folder: Path) -> Report:
    """Read the folder.

    Raises:
        InputError: its comparison is of another CXLab, or damaged.

    """
    file = folder / COMPARISON
    try:
        document: dict[str, Any] = json.loads(file.read_bytes())
        columns, sentences = document["columns"], document["sentences"]
        facts = [_columns(columns), _memory(columns)]
    except (ValueError, KeyError, TypeError) as error:
        found = f"is damaged, or of another CXLab ({error!r})"
        raise InputError(Code.SWEEP, str(file), found, "what `cxlab compare` writes; run it again") from None
    chart = causes.of_file(file)
    shown: list[Any] = [facts[0], *([] if chart is None else [chart]), facts[1]]
    configurations = [_configuration(folder, column) for column in columns]
    shown += _topologies(found for found in configurations if found is not None)
    argv: list[str] = next((found["program"]["argv"] for found in configurations if found is not None), [])
    return Report(f"CXLab comparison: {' '.join(argv)}", " ".join(f"{told}." for told in sentences), shown)


def _columns(columns: Sequence[Mapping[str, Any]]) -> Facts:
    headings = ("column", "machine", "placement", "times the first", "interval", "how", "simulated time [ms]")
    rows = [
        (
            column["label"],
            column["machine"],
            column["placement"],
            round(column["slowdown"], 3),
            _interval(column["interval"], column["confidence"]),
            column["how"],
            ", ".join(f"{1e3 * seconds:.4g}" for seconds in column["simulated_seconds"]),
        )
        for column in columns
    ]
    return Facts("Columns", headings, rows)


def _interval(ends: Sequence[float] | None, confidence: float | None) -> str:
    if ends is None or confidence is None:
        return "none"
    return f"{ends[0]:.3f} to {ends[1]:.3f}, {confidence:.0%}"


def _memory(columns: Sequence[Mapping[str, Any]]) -> Facts:
    rows = [
        (column["label"], name, _told(of["bandwidth_mb_s"], 1e-3), _told(of["load_latency_ns"], 1.0))
        for column in columns
        for name, of in column["nodes"].items()
    ]
    return Facts("Memory", ("column", "node", "bandwidth [GB/s]", "load to use [ns]"), rows)


def _told(value: float | None, factor: float) -> str:
    return "-" if value is None else f"{value * factor:.4g}"


def _configuration(folder: Path, column: Mapping[str, Any]) -> dict[str, Any] | None:
    """The config.json of a column's first run; None if its folder is not there any more."""
    try:
        found: dict[str, Any] = json.loads(
            (folder / Path(column["folder"]).name / "config.json").read_bytes()
        )
    except (OSError, ValueError, TypeError):
        return None
    return found


def _topologies(configurations: Iterator[dict[str, Any]]) -> Iterator[Topology]:
    """A drawing of each machine."""
    machines = {json.dumps(of["machine"], sort_keys=True): of["machine"] for of in configurations}
    return (topology.of_machine(model.machine_figures(machine)) for machine in machines.values())
