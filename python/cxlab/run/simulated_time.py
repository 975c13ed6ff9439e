"""Spans of simulated time as options give them: 500ns, 2us, 1.5ms."""

from __future__ import annotations

import re

#: In picoseconds.
UNITS = {"ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}


def parse_ps(text: str) -> int | None:
    """``2us`` in picoseconds; None: this is no time."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(ns|us|ms|s)", text)
    return None if match is None else round(float(match[1]) * UNITS[match[2]])
