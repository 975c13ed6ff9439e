"""The folder of one run: what was asked (config.json), what came out (summary.json, and over simulated time
series.parquet), every statistic (statistics.json), the guest's console."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cxlab import model, whole_file
from cxlab.border import RunResult
from cxlab.error import NotBuilt
from cxlab.run.errors import FolderInUse, UnusableFolder

DEFAULT_PARENT = Path("cxlab-runs")


@dataclass(frozen=True)
class RunDirectory:
    """The existing folder of a run."""

    path: Path
    #: a lock on the folder, which the kernel takes back when this process ends
    lock: int

    @classmethod
    def create(cls, asked: Path | None, program: str, *, overwrite: bool = False) -> RunDirectory:
        """``asked``, or ``cxlab-runs/<UTC time>-<program>``, held by this process for as long as it lives.

        Results of an earlier run in it are removed if ``overwrite`` says so.

        Raises:
            UnusableFolder: it cannot be made or written.
            FolderInUse: it holds a run, or one is being written there.

        """
        try:
            path = fresh(program) if asked is None else asked
            path.mkdir(parents=True, exist_ok=True)
            directory = cls(path.resolve(), _hold(path))
            try:
                directory._clear(overwrite=overwrite)
            except BaseException:
                os.close(directory.lock)
                raise
        except OSError as error:
            raise UnusableFolder(
                f"the folder for results cannot be used: {error}; choose another with --out"
            ) from None
        return directory

    def _clear(self, *, overwrite: bool) -> None:
        results = (self.config, self.summary, self.series, self.statistics, self.profile)
        files = (*results, self.partial_summary, self.console)
        found = [file.name for file in files if file.exists()]
        if found and not overwrite:
            run = "an earlier run" if self.summary.exists() else "a run that was killed"
            raise FolderInUse(
                f"{self.path} holds {run} ({', '.join(found)}); choose another folder with --out, "
                "or add --overwrite to lose that run"
            )
        # The folder is ours: nobody else writes there.
        for stale in files:
            stale.unlink(missing_ok=True)
        self.forget_partial_summary()
        for result in files:
            whole_file.remove_leftovers(result)
        self.console.touch()

    @property
    def config(self) -> Path:
        """Resolved configuration of the run: config.json."""
        return self.path / "config.json"

    @property
    def summary(self) -> Path:
        """Results of the run: summary.json."""
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
    def profile(self) -> Path:
        """Profile of what waits for memory; absent without --profile."""
        return self.path / "profile.json"

    @property
    def partial_summary(self) -> Path:
        """The model's results so far; gone when the run has ended."""
        return self.path / "summary.partial.json"

    def forget_partial_summary(self) -> None:
        """Remove it, and what a model that was killed had written of the next one."""
        for file in (self.partial_summary, self.partial_summary.with_suffix(".unfinished")):
            file.unlink(missing_ok=True)

    def read_partial_summary(self) -> RunResult | None:
        """The model's results so far, if it has left any."""
        try:
            return model.run_result(json.loads(self.partial_summary.read_bytes()))
        except (OSError, ValueError, NotBuilt):
            return None

    @property
    def console(self) -> Path:
        """The guest's serial console."""
        return self.path / "console.log"


def _hold(path: Path) -> int:
    """Lock the folder against another run."""
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise FolderInUse(
            f"another run writes to {path} just now; choose another folder with --out"
        ) from None
    return lock


def fresh(program: str) -> Path:
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
    raise UnusableFolder(f"{DEFAULT_PARENT} has a thousand runs of this second. Choose a folder with --out")
