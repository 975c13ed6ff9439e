"""Every figure and table of the papers: what makes it, or why nothing does.

figures.toml                titles, and why nothing makes a figure
experiments/papers/*.py     MAKES: the figures that a file makes; SUBJECT: with what
             \\____________ PaperFigure: id, title, made_with, why
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
from cxlab.error import Code, InputError
from msgspec import Struct

from experiments.experiment import Experiment, Kind, all_experiments

LIST = Path(__file__).resolve().parent / "figures.toml"


class MadeWith(Enum):
    """The kind of workload that a figure is made with."""

    REAL = "real program"
    SYNTHETIC = "synthetic"
    CLOSED_FORM = "closed form"
    NOT_YET = "not yet"


#: The weakest first: a figure of several experiments is called by its weakest.
WEAKEST_FIRST = (
    (Kind.SYNTHETIC, MadeWith.SYNTHETIC),
    (Kind.CLOSED_FORM, MadeWith.CLOSED_FORM),
    (Kind.REAL, MadeWith.REAL),
)


class Entry(Struct, forbid_unknown_fields=True, frozen=True):
    """A figure as figures.toml has it."""

    id: str
    title: str
    not_yet: str | None = None
    missing: str | None = None


class Paper(Struct, forbid_unknown_fields=True, frozen=True):
    """A paper as figures.toml has it."""

    id: str
    title: str
    figures: list[Entry]


class Papers(Struct, forbid_unknown_fields=True, frozen=True):
    """Content of figures.toml."""

    papers: list[Paper]


@dataclass(frozen=True)
class PaperFigure:
    """A figure or table of a paper."""

    paper: Paper
    entry: Entry
    #: files of experiments/papers that make it
    experiments: tuple[Experiment, ...]

    @property
    def id(self) -> str:
        """Name of the figure: PAPER/figN or PAPER/tableN."""
        return self.entry.id

    @property
    def file_name(self) -> str:
        """The id as the stem of a file."""
        return self.id.replace("/", "-")

    @property
    def made_with(self) -> MadeWith:
        """The weakest of what its experiments are driven by."""
        kinds = {experiment.subject.kind for experiment in self.experiments}
        return next((made for kind, made in WEAKEST_FIRST if kind in kinds), MadeWith.NOT_YET)

    @property
    def why(self) -> str:
        """Why nothing makes it; or what drives the machine, and which part is missing."""
        if not self.experiments:
            return self.entry.not_yet or ""
        drives = "; ".join(dict.fromkeys(experiment.subject.what for experiment in self.experiments))
        return drives if self.entry.missing is None else f"{drives}. Missing: {self.entry.missing}"

    def document(self) -> dict[str, Any]:
        """The figure as ``--list --json`` writes it."""
        return {
            "id": self.id,
            "paper": self.paper.title,
            "title": self.entry.title,
            "made_with": self.made_with.value,
            "why": self.why,
            "experiments": [experiment.name for experiment in self.experiments],
        }


def papers() -> list[Paper]:
    """Read figures.toml."""
    return msgspec.toml.decode(LIST.read_bytes(), type=Papers).papers


def all_figures() -> list[PaperFigure]:
    """Every figure of every paper, in the papers' order."""
    experiments = all_experiments()
    return [
        PaperFigure(paper, entry, tuple(one for one in experiments if entry.id in one.makes))
        for paper in papers()
        for entry in paper.figures
    ]


def find(figure_id: str) -> PaperFigure:
    """The figure called ``figure_id``.

    Raises:
        InputError: no paper has it, or nothing makes it.

    """
    known = {figure.id: figure for figure in all_figures()}
    made = ", ".join(figure.id for figure in known.values() if figure.experiments)
    if figure_id not in known:
        found = "is no figure or table of a listed paper"
        raise InputError(Code.EXPERIMENT, figure_id, found, made, "`cxlab reproduce --list` has all of them")
    figure = known[figure_id]
    if not figure.experiments:
        raise InputError(Code.EXPERIMENT, figure_id, f"is not reproduced yet: {figure.why}", made)
    return figure
