"""Finds how many instructions a program executed in an earlier run. So a run can say how much is left.

An earlier run is one whose folder lies beside this run's, as all do in ``cxlab-runs``. It ran the same
program file, arguments, input files and processors, from the same beginning to its own end. Machine,
placement and sampling may be others: they change what an instruction takes, and hardly how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from cxlab.border import RunResult
from cxlab.run.errors import NoRun
from cxlab.run.results import finished

#: Of the folders beside a run's, the newest so many are looked at.
MOST = 100


class _Asked(Struct, frozen=True):
    """Fields of config.json that decide how many instructions a run has."""

    program: dict[str, Any]
    program_file: dict[str, Any] | None
    input_files: list[dict[str, Any]]
    cpus: int
    detail: str
    until_ms: float | None
    until_idle_ms: float | None
    from_output: str | None
    to_output: str | None
    from_symbol: str | None = None
    to_symbol: str | None = None
    checkpoint: str | None = None


def run(folder: Path) -> RunResult | None:
    """The newest complete run beside this folder of the program in its config.json; None: there is none."""
    wanted = _asked(folder)
    if wanted is None:
        return None
    complete = (_complete(other) for other in _newest(folder) if _asked(other) == wanted)
    return next((result for result in complete if result is not None), None)


def _newest(folder: Path) -> list[Path]:
    """The folders beside this one that hold runs, the newest first."""

    def written() -> Iterator[tuple[float, Path]]:
        for config in folder.parent.glob("*/config.json"):
            if config.parent != folder:
                try:
                    yield config.stat().st_mtime, config.parent
                except OSError:
                    continue  # removed meanwhile

    return [path for _, path in sorted(written(), reverse=True)[:MOST]]


def _asked(folder: Path) -> _Asked | None:
    try:
        return msgspec.json.decode((folder / "config.json").read_bytes(), type=_Asked)
    except (OSError, ValueError):
        return None


def _complete(folder: Path) -> RunResult | None:
    try:
        found = finished.read(folder)
    except NoRun:
        return None
    return found.result if found.complete else None
