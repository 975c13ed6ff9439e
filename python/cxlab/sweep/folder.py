"""The folder of a sweep.

::

    DIR/sweep.json            machines and runs of the file as it was last given, in order
    DIR/runs/HASH.parquet     one run's rows; there once the run is finished, and never half
    DIR/scratch/              what guests and Slurm write meanwhile
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from cxlab import whole_file
from cxlab.border import MachineFigures
from cxlab.error import Code, InputError
from cxlab.file_format import Format
from cxlab.output import write_json
from cxlab.sweep.plan import Run

MANIFEST = "sweep.json"
#: Where sweeps go that name no folder.
PARENT = Path("cxlab-sweeps")


class PlannedRun(Struct, frozen=True):
    """A run of the list: its file's name, and where it is on each axis."""

    run: str
    machine: str
    settings: dict[str, str]
    placement: str
    workload: str
    seed: int


class Manifest(Struct, frozen=True):
    """The resolved sweep: sweep.json."""

    sweep: str
    #: by the name in the sweep's file
    machines: dict[str, MachineFigures]
    runs: list[PlannedRun]
    format: str = Format.SWEEP


def manifest(path: Path) -> Manifest:
    """Read the list of runs of the sweep in this folder.

    Raises:
        InputError: it is not there, or of another CXLab.

    """
    file = path / MANIFEST
    try:
        read = msgspec.json.decode(file.read_bytes(), type=Manifest)
        if read.format == Format.SWEEP:
            return read
        found, valid = f"its format is {read.format!r:.60}", f"{Format.SWEEP.value!r}; run the sweep again"
    except OSError as error:
        found, valid = f"cannot be read: {error.strerror}", "the folder of a sweep"
    except ValueError as error:
        found, valid = f"is of another CXLab ({error})", "what `cxlab sweep` writes; run the sweep again"
    raise InputError(Code.SWEEP, str(file), found, valid)


@dataclass(frozen=True)
class SweepFolder:
    """The existing folder of a sweep."""

    path: Path

    @property
    def runs(self) -> Path:
        """Folder of the runs' files."""
        return self.path / "runs"

    @property
    def scratch(self) -> Path:
        """Folder for temporary files of guests and of Slurm."""
        return self.path / "scratch"

    def file(self, name: str) -> Path:
        """The file of the run ``name``."""
        return self.runs / f"{name}.parquet"

    def pending(self, runs: Sequence[Run]) -> list[Run]:
        """Runs without a file, in order."""
        finished = {entry.name for entry in os.scandir(self.runs)} if self.runs.is_dir() else set()
        return [run for run in runs if self.file(run.name).name not in finished]

    def remove_unfinished(self) -> None:
        """Remove what killed processes have left."""
        whole_file.remove_all_leftovers(self.runs)
        shutil.rmtree(self.scratch, ignore_errors=True)


@contextmanager
def held(path: Path, name: str, runs: Sequence[Run], machines: Mapping[str, Any]) -> Iterator[SweepFolder]:
    """Make the folder, write its list of runs, and keep every other sweep out of it.

    ``machines`` has the resolved description of each machine, without settings of a run.

    Raises:
        InputError: another sweep is at work there, or the folder cannot be written.

    """
    folder = SweepFolder(path)
    try:
        folder.runs.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        place, found = str(error.filename or path), error.strerror or str(error)
        raise InputError(Code.SWEEP, place, found, "a folder that can be written") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found = "another sweep is at work there"
            raise InputError(Code.SWEEP, str(path), found, "another folder (--out DIR), or wait") from None
        listed = [run.axes() for run in runs]
        write_json(path / MANIFEST, {"sweep": name, "machines": machines, "runs": listed}, Format.SWEEP)
        yield folder
    finally:
        os.close(lock)
