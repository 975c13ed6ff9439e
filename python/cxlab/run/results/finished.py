"""A finished run, read from its folder: the model's results, what ran, and every statistic."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from cxlab import file_format, model
from cxlab.border import Part, RunResult
from cxlab.run.errors import NoRun


class HostSeconds(Struct, frozen=True):
    """Time that a run took on the host [s]. None: it did not come to that."""

    boot: float | None = None
    detail: float | None = None
    total: float | None = None


@dataclass(frozen=True)
class Finished:
    """Content of a run's folder."""

    folder: Path
    #: None: the run had no detail
    result: RunResult | None
    program: tuple[str, ...]
    machine: str
    placement: str
    complete: bool
    reason: str | None
    exit_status: int | None
    host_seconds: HostSeconds
    #: the most memory of the host that QEMU and the model had [10^6 B]; None: not measured
    host_memory_mb: float | None

    def statistics(self) -> Part | None:
        """Every statistic, if the run has left them.

        Raises:
            NoRun: the file is of an earlier CXLab.

        """
        try:
            return msgspec.json.decode((self.folder / "statistics.json").read_bytes(), type=Part)
        except FileNotFoundError:
            return None
        except msgspec.ValidationError as error:
            where = self.folder / "statistics.json"
            raise NoRun(f"{where} is of another CXLab ({error}); run the program again") from None


class _Program(Struct, frozen=True):
    argv: tuple[str, ...] = ()


class _Head(Struct, frozen=True):
    """Fields that a summary has beside the model's results."""

    program: _Program = _Program()
    machine: str = ""
    #: as the command line has it; None: of a replay, whose pages are where they were recorded
    placement: str | None = ""
    complete: bool = False
    #: why the run ended early; None: it did not
    reason: str | None = None
    #: of the program; None: it was never started
    exit_status: int | None = None
    host_seconds: HostSeconds = HostSeconds()
    host_memory_mb: float | None = None


class ReplayNames(Struct, frozen=True):
    """Names that a replay's file has beside the model's results."""

    machine: str
    #: as the command line has it; None: the pages are where they were recorded
    placement: str | None


@dataclass(frozen=True)
class Replayed:
    """Content of the file of `cxlab replay --json`."""

    result: RunResult
    machine: str
    placement: str | None


# Threads of a notebook read runs. One thread builds these, here: msgspec 0.22 can crash where two do at once.
_BUILT = [msgspec.json.Decoder(read) for read in (RunResult, Part, _Head, ReplayNames)]


def of_replay(file: Path) -> Replayed:
    """Read the file of a replay that this CXLab has just made."""
    document = json.loads(file.read_bytes())
    names = msgspec.convert(document, type=ReplayNames)
    return Replayed(model.run_result(document), names.machine, names.placement)


def read(folder: Path) -> Finished:
    """Read a run's folder.

    Raises:
        NoRun: it holds no run, one that has not ended, or one of an earlier CXLab.

    """
    return of_summary(folder / "summary.json")


def of_summary(file: Path) -> Finished:
    """Read a run's summary: summary.json of its folder, or the file of `cxlab run --json`.

    Raises:
        NoRun: there is no such file, or it is no summary of this CXLab.

    """
    document = _summary(file)
    try:
        result = msgspec.convert(document, type=RunResult) if "simulated_seconds" in document else None
        head = msgspec.convert(document, type=_Head)
    except msgspec.ValidationError as error:
        raise NoRun(f"{file} is of another CXLab ({error}); run the program again") from None
    return Finished(
        folder=file.parent,
        result=result,
        program=tuple(head.program.argv),
        machine=head.machine,
        placement="as recorded" if head.placement is None else head.placement,
        complete=head.complete,
        reason=head.reason,
        exit_status=head.exit_status,
        host_seconds=head.host_seconds,
        host_memory_mb=head.host_memory_mb,
    )


def _summary(file: Path) -> dict[str, Any]:
    folder = file.parent
    try:
        document = json.loads(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        why = "its run has not ended" if (folder / "config.json").exists() else "no run has ended there"
        raise NoRun(f"{folder}: {why}; valid: the folder that `cxlab run` names at its end") from None
    except (OSError, ValueError) as error:
        raise NoRun(f"{file} cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise NoRun(f"{file} is no summary of a run; valid: the folder that `cxlab run` names at its end")
    another = file_format.other(document, file_format.Format.SUMMARY)
    if another is not None:
        raise NoRun(f"{file} cannot be read: {another}. Read it with the CXLab that wrote it")
    return document
