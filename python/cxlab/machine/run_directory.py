"""The folder of one run: what was asked (config.json), what came out (summary.json, and over simulated time
series.parquet), every statistic (statistics.json), the guest's console."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cxlab.machine.errors import UnusableFolder

DEFAULT_PARENT = Path("cxlab-runs")


@dataclass(frozen=True)
class RunDirectory:
    """An existing folder."""

    path: Path

    @classmethod
    def create(cls, asked: Path | None, program: str) -> RunDirectory:
        """``asked``, or ``cxlab-runs/<UTC time>-<program>``; results of an earlier run in it are removed.

        Raises:
            UnusableFolder: it cannot be made or written.

        """
        try:
            path = _fresh(program) if asked is None else asked
            path.mkdir(parents=True, exist_ok=True)
            directory = cls(path.resolve())
            results = (directory.config, directory.summary, directory.series, directory.statistics)
            for stale in (*results, directory.partial_summary, directory.console):
                stale.unlink(missing_ok=True)
            directory.console.touch()
        except OSError as error:
            raise UnusableFolder(
                f"the folder for results cannot be used: {error}; choose another with --out"
            ) from None
        return directory

    @property
    def config(self) -> Path:
        """What was asked, resolved."""
        return self.path / "config.json"

    @property
    def summary(self) -> Path:
        """The results."""
        return self.path / "summary.json"

    @property
    def series(self) -> Path:
        """The model's counters over simulated time; absent without detail."""
        return self.path / "series.parquet"

    @property
    def statistics(self) -> Path:
        """Every statistic, with unit and description; absent without detail."""
        return self.path / "statistics.json"

    @property
    def partial_summary(self) -> Path:
        """The model's results so far; gone when the run has ended."""
        return self.path / "summary.partial.json"

    def read_partial_summary(self) -> dict[str, Any] | None:
        """The model's results so far, if it has left any."""
        try:
            summary = json.loads(self.partial_summary.read_bytes())
        except (OSError, ValueError):
            return None
        return summary if isinstance(summary, dict) else None

    @property
    def console(self) -> Path:
        """The guest's serial console."""
        return self.path / "console.log"


def _fresh(program: str) -> Path:
    """A new folder; two runs of one second are told apart by a number."""
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{time}-{Path(program).name or 'program'}"
    DEFAULT_PARENT.mkdir(exist_ok=True)
    for attempt in range(1, 1000):
        path = DEFAULT_PARENT / (name if attempt == 1 else f"{name}-{attempt}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise UnusableFolder(f"{DEFAULT_PARENT} has a thousand runs of this second")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write ``content`` so that ``path`` is either absent, as before, or complete."""
    with _whole(path) as partial, partial.open("w") as file:
        json.dump(content, file, indent=2)
        file.write("\n")


def write_parquet(path: Path, columns: dict[str, list[float]]) -> None:
    """The same for a table; the unit stands at the end of a column's name."""
    # Takes half a second to import, and only runs with detail need it.
    from pyarrow import parquet, table

    with _whole(path) as partial:
        parquet.write_table(table(columns), partial)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A file beside ``path`` that takes its name when all has been written."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(descriptor)
    partial = Path(name)
    try:
        yield partial
        # mkstemp makes it private; results are as readable as any file of the user.
        mask = os.umask(0)
        os.umask(mask)
        partial.chmod(0o666 & ~mask)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
