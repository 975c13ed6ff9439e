"""Spans of simulated time: each unit's picoseconds, and what is no time."""

import pytest
from cxlab.run.simulated_time import parse_ps


@pytest.mark.parametrize(
    ("text", "ps"),
    [
        ("0ns", 0),
        ("1ns", 10**3),
        ("500 ns", 500_000),
        ("2us", 2 * 10**6),
        ("1.5ms", 15 * 10**8),
        ("2s", 2 * 10**12),
    ],
)
def test_units_are_those_of_si(text: str, ps: int) -> None:
    assert parse_ps(text) == ps


@pytest.mark.parametrize(
    "text", ["", "2", "us", "2 m", "-1us", "1e3us", ".5us", "1.us", "2us ", "1h", "0x2us"]
)
def test_anything_else_is_no_time(text: str) -> None:
    assert parse_ps(text) is None
