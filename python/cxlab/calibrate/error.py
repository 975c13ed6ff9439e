"""Errors of ``cxlab calibrate``: each names what was wrong, where, and what is valid."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Code(Enum):
    """Stable codes of what can be wrong."""

    UNREADABLE = "CAL001"
    NOT_MEASURED = "CAL002"
    UNKNOWN_PARAMETER = "CAL003"
    BOUNDS = "CAL004"
    HOLD_OUT = "CAL005"
    TOO_FEW = "CAL006"
    REFUSED = "CAL007"
    UNWRITABLE = "CAL008"


@dataclass
class CalibrationError(Exception):
    """One wrong input."""

    code: Code
    #: option, file or parameter, as the user wrote it
    field: str
    found: str
    valid: str

    def __str__(self) -> str:
        """Where, what, what is valid."""
        return f"{self.code.value}: {self.field}: {self.found}; valid: {self.valid}"
