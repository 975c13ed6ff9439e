"""An experiment is a file that says what drives the machine (`SUBJECT`) and measures it (`measure`).

papers/NAME.py or studies/NAME.py
    SUBJECT = synthetic("..."), real("...") or closed_form("...")     the first line of the output
    MAKES = ("micro23/fig9",)                     only in papers/: figures of figures.toml that it makes
    def measure(asked: Asked) -> Report           tables, notes, a figure

--quick   --> asked.quick    a subset that takes seconds to a minute; its numbers are not for quoting
--out DIR --> asked.folder   programs, traces and logs, and NAME.json with every number
--plot    --> Report.figure
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from cxlab.error import Code, InputError
from cxlab.file_format import Format
from cxlab.output import console, write_json
from rich.table import Table as RichTable

from experiments import papers, studies

#: The packages that hold experiments.
GROUPS = {"paper": papers, "study": studies}


class Kind(Enum):
    """Kind of workload: a real program, a synthetic stand-in or a closed form."""

    SYNTHETIC = "synthetic stand-in"
    REAL = "real program"
    CLOSED_FORM = "closed form"


@dataclass(frozen=True)
class Subject:
    """The workload that drives the machine: its kind, and one line about it."""

    kind: Kind
    what: str

    def __str__(self) -> str:
        """The first line of an experiment's output."""
        return f"workload: {self.kind.value}: {self.what}"


def synthetic(what: str) -> Subject:
    """A generator of accesses that stands for a program."""
    return Subject(Kind.SYNTHETIC, what)


def real(what: str) -> Subject:
    """An unmodified program in a guest."""
    return Subject(Kind.REAL, what)


def closed_form(what: str) -> Subject:
    """A formula: nothing is simulated."""
    return Subject(Kind.CLOSED_FORM, what)


@dataclass(frozen=True)
class Asked:
    """The options of a run."""

    #: a subset in place of the whole
    quick: bool
    #: an existing folder for whatever the experiment writes
    folder: Path


class Shown(Protocol):
    """A table of an experiment."""

    def shown(self) -> RichTable:
        """The table for people."""
        ...

    def document(self) -> dict[str, Any]:
        """The table as JSON."""
        ...


@dataclass(frozen=True)
class Report:
    """The result of an experiment: tables, notes, perhaps a figure."""

    tables: Sequence[Shown]
    notes: Sequence[str] = ()
    #: draws into a file; None: the experiment has no figure
    figure: Callable[[Path], None] | None = None


@dataclass(frozen=True)
class Experiment:
    """A file of `papers` or `studies`."""

    name: str
    #: paper, study
    group: str
    module: ModuleType = field(repr=False)

    @property
    def about(self) -> str:
        """The first line of the file's description."""
        return (self.module.__doc__ or "").strip().splitlines()[0]

    @property
    def subject(self) -> Subject:
        """The workload that drives the machine."""
        subject: Subject = self.module.SUBJECT
        return subject

    @property
    def makes(self) -> tuple[str, ...]:
        """Ids of the papers' figures that it makes; a study makes none."""
        figures: tuple[str, ...] = self.module.MAKES if self.group == "paper" else ()
        return figures

    def measure(self, asked: Asked) -> Report:
        """Run the experiment."""
        report: Report = self.module.measure(asked)
        return report


def all_experiments() -> list[Experiment]:
    """Every experiment, papers first."""
    return [
        Experiment(found.name, group, importlib.import_module(f"{package.__name__}.{found.name}"))
        for group, package in GROUPS.items()
        for found in pkgutil.iter_modules(package.__path__)
    ]


def find(name: str) -> Experiment:
    """The experiment called ``name``.

    Raises:
        InputError: there is none.

    """
    known = {experiment.name: experiment for experiment in all_experiments()}
    if name not in known:
        raise InputError(Code.EXPERIMENT, name, "is no experiment", ", ".join(known))
    return known[name]


def run(experiment: Experiment, asked: Asked, plot: Path | None) -> None:
    """Measure, print, and write NAME.json and the figure."""
    out = console()
    out.print(str(experiment.subject), markup=False, highlight=False)
    if asked.quick:
        out.print("quick: a subset of the experiment; do not quote its numbers", highlight=False)
    report = experiment.measure(asked)
    if plot is not None and report.figure is None:
        raise InputError(Code.EXPERIMENT, "--plot", f"{experiment.name} has no figure", "no --plot")
    for table in report.tables:
        out.print(table.shown())
    for note in report.notes:
        out.print(note, markup=False, highlight=False, soft_wrap=True)
    document = {
        "experiment": experiment.name,
        "workload": {"kind": experiment.subject.kind.name.lower(), "what": experiment.subject.what},
        "quick": asked.quick,
        "tables": [table.document() for table in report.tables],
        "notes": list(report.notes),
    }
    write_json(asked.folder / f"{experiment.name}.json", document, Format.EXPERIMENT)
    if plot is not None and report.figure is not None:
        report.figure(plot)
