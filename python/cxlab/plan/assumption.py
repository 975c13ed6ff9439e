"""An assumption: one input with its interval, its valid range, and where it came from and when.

Every number that reaches a result is an `Assumption`, so the list that the output prints is complete by
construction. Results are functions of nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from cxlab.error import Code, InputError
from cxlab.plan.quantity import Dimension, Interval, Range, show, show_interval

Values = Mapping[str, float]  # a value for each assumption, by key, in canonical units


class Origin(Enum):
    """How an assumption came to be."""

    PUBLISHED = "published"  # a document that the source names
    ASSUMED = "assumed"  # nobody published it: the source says why this is plausible
    MEASURED = "measured"  # from the user's own runs
    TYPED = "typed"  # by the user, on the command line or in a file of theirs


@dataclass(frozen=True)
class Provenance:
    """The source of an assumption."""

    origin: Origin
    source: str  # document, option or directory
    date: str  # ISO date, or year and month, at which the source held


@dataclass(frozen=True)
class Assumption:
    """One input of a study."""

    key: str  # its name in a price book, an applications file or a table
    meaning: str  # for people, without the unit
    dimension: Dimension
    value: Interval  # canonical unit of `dimension`
    valid: Range
    provenance: Provenance
    field: str  # where the user can change it: an option or file and key
    currency: str = "USD"

    def __post_init__(self) -> None:
        """Check both ends against the valid range. Raises `InputError`."""
        for end in (self.value.nominal, self.value.low, self.value.high):
            if end not in self.valid:
                valid = self.valid.describe(self.key, self.dimension, self.currency)
                raise InputError(
                    Code.OUT_OF_RANGE, self.field, f"is {show(end, self.dimension, self.currency)}", valid
                )

    def show(self) -> str:
        """Write the value and its interval for people."""
        return show_interval(self.value, self.dimension, self.currency)

    @property
    def unit(self) -> str:
        """The unit in words, such as `GiB` or `fraction`."""
        if self.dimension is Dimension.FRACTION:
            return "fraction"
        return str(self.dimension.value).replace("¤", self.currency)

    def as_json(self) -> dict[str, object]:
        """Return the assumption as the JSON output holds it."""
        return {
            "key": self.key,
            "meaning": self.meaning,
            "unit": self.unit,
            "nominal": self.value.nominal,
            "low": self.value.low,
            "high": self.value.high,
            "origin": self.provenance.origin.value,
            "source": self.provenance.source,
            "date": self.provenance.date,
        }


@dataclass(frozen=True)
class Study:
    """An outcome as a function of its assumptions: what tornado, spread and heat map vary."""

    outcome: str  # for people: "TCO saving"
    assumptions: tuple[Assumption, ...]
    evaluate: Callable[[Values], float]  # outcome as a fraction; raises InputError outside the model's domain

    def nominal(self) -> dict[str, float]:
        """Return every assumption at its nominal value."""
        return {a.key: a.value.nominal for a in self.assumptions}

    def find(self, key: str) -> Assumption:
        """Return the assumption of that key; a wrong key is our own bug."""
        return next(a for a in self.assumptions if a.key == key)
