"""The errors of `cxlab plan`: each names the field, what was found and what is valid.

A code is stable: scripts may match on it. Every one of them is the caller's input, so the command line ends
with exit status 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Code(Enum):
    """Stable codes of what can be wrong with an input."""

    NOT_A_QUANTITY = "PLN001"
    WRONG_UNIT = "PLN002"
    OUT_OF_RANGE = "PLN003"
    UNKNOWN_KEY = "PLN004"
    MISSING = "PLN005"
    UNREADABLE = "PLN006"
    INFEASIBLE = "PLN007"
    RUNS_DIFFER = "PLN008"
    CONFLICT = "PLN009"


@dataclass
class PlanError(Exception):
    """One wrong input.

    Raised by every module of `cxlab.plan`; nothing else is raised for wrong input.
    """

    code: Code
    field: str  # option, key or file that was wrong, as the user wrote it
    found: str  # what was there
    valid: str  # what would be accepted, with its unit
    next_step: str | None = None  # what to do, where that does not follow from `valid`

    def __str__(self) -> str:
        """Write the message in the order a reader needs it: where, what, what is valid, what to do."""
        text = f"{self.code.value}: {self.field}: {self.found}; valid: {self.valid}"
        return text if self.next_step is None else f"{text}; {self.next_step}"
