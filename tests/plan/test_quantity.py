"""Quantities as people write them."""

import pytest
from cxlab.error import Code, InputError
from cxlab.plan.quantity import Dimension, Interval, parse
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("10", Dimension.RATIO, Interval(10, 10, 10)),
        (10, Dimension.RATIO, Interval(10, 10, 10)),
        ("8..12", Dimension.RATIO, Interval(10, 8, 12)),
        ("9 in 8..12", Dimension.RATIO, Interval(9, 8, 12)),
        ("1 TiB", Dimension.CAPACITY, Interval(1024, 1024, 1024)),
        ("20 %", Dimension.FRACTION, Interval(0.2, 0.2, 0.2)),
        ("0.5", Dimension.FRACTION, Interval(0.5, 0.5, 0.5)),
        ("90 USD/MWh", Dimension.PRICE_PER_ENERGY, Interval(0.09, 0.09, 0.09)),
        ("1.5e3 W", Dimension.POWER, Interval(1500, 1500, 1500)),
        ("24 months", Dimension.DURATION, Interval(2, 2, 2)),
    ],
)
def test_reads(text: str | float, dimension: Dimension, expected: Interval) -> None:
    assert parse(text, dimension, "field") == expected


def test_a_gigabyte_is_not_a_gibibyte() -> None:
    assert parse("1 GB", Dimension.CAPACITY, "field").nominal == pytest.approx(1e9 / 2**30)
    # 1 USD per 10^9 bytes buys 2^30 bytes for 1.0737 USD
    assert parse("1 USD/GB", Dimension.PRICE_PER_CAPACITY, "field").nominal == pytest.approx(2**30 / 1e9)


@pytest.mark.parametrize(
    ("text", "dimension", "code", "valid"),
    [
        ("ten", Dimension.RATIO, Code.NOT_A_QUANTITY, "LOW..HIGH"),
        ("", Dimension.RATIO, Code.NOT_A_QUANTITY, "LOW..HIGH"),
        ("nan", Dimension.RATIO, Code.NOT_A_QUANTITY, "LOW..HIGH"),
        (True, Dimension.RATIO, Code.NOT_A_QUANTITY, "LOW..HIGH"),
        ("12..8", Dimension.RATIO, Code.NOT_A_QUANTITY, "LOW <= nominal <= HIGH"),
        ("7 in 8..12", Dimension.RATIO, Code.NOT_A_QUANTITY, "LOW <= nominal <= HIGH"),
        ("512", Dimension.CAPACITY, Code.WRONG_UNIT, "GiB"),
        ("512 W", Dimension.CAPACITY, Code.WRONG_UNIT, "GiB"),
        ("3 EUR", Dimension.PRICE, Code.WRONG_UNIT, "USD"),
    ],
)
def test_refuses(text: str | float, dimension: Dimension, code: Code, valid: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, dimension, "some key")
    assert caught.value.code is code
    assert caught.value.field == "some key"
    assert valid in caught.value.valid


@given(st.floats(-1e12, 1e12), st.sampled_from(["", " ", "  "]))
def test_reads_back_any_number(value: float, space: str) -> None:
    assert parse(f"{space}{value!r}{space} GiB", Dimension.CAPACITY, "field").nominal == value
