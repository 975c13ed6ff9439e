"""Numbers with a unit and an interval: `512 GiB`, `8..12`, `0.09 in 0.07..0.19 USD/kWh`.

    text      "4.2 in 2.5..19 USD/GiB"
                |       |       |
              nominal  low..high  unit -> canonical unit of its dimension

Money is in the currency of the price book, which names it once; no exchange rates are modelled.
Grammar: `N`, `LOW..HIGH` (nominal in the middle) or `N in LOW..HIGH`, then the unit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum
from typing import NewType

from cxlab.error import Code, InputError

GiB = NewType("GiB", float)  # 2^30 bytes
Watts = NewType("Watts", float)
Money = NewType("Money", float)  # currency of the price book
Years = NewType("Years", float)

HOURS_PER_YEAR = 8766.0  # Julian year of 365.25 days, 24 h each
GB_IN_GIB = 1e9 / 2**30
MONEY = "¤"  # stands for the currency code in unit tables (ISO 4217 calls it "currency sign")


class Dimension(Enum):
    """Dimension of a number; its value is the canonical unit."""

    RATIO = ""
    FRACTION = "%"
    COUNT = "each"
    CAPACITY = "GiB"
    POWER = "W"
    POWER_PER_CAPACITY = "W/GiB"
    PRICE = "¤"
    PRICE_PER_CAPACITY = "¤/GiB"
    PRICE_PER_ENERGY = "¤/kWh"
    DURATION = "years"


# Factor from the unit as written to the canonical one. A fraction is kept as 0..1.
UNITS: dict[Dimension, dict[str, float]] = {
    Dimension.RATIO: {"": 1.0, "x": 1.0},
    Dimension.FRACTION: {"%": 0.01, "": 1.0},
    Dimension.COUNT: {"": 1.0},
    Dimension.CAPACITY: {
        "GiB": 1.0,
        "TiB": 1024.0,
        "MiB": 1 / 1024.0,
        "GB": GB_IN_GIB,
        "TB": 1000 * GB_IN_GIB,
    },
    Dimension.POWER: {"W": 1.0, "kW": 1000.0},
    Dimension.POWER_PER_CAPACITY: {"W/GiB": 1.0, "W/GB": 1 / GB_IN_GIB},
    Dimension.PRICE: {MONEY: 1.0},
    Dimension.PRICE_PER_CAPACITY: {f"{MONEY}/GiB": 1.0, f"{MONEY}/GB": 1 / GB_IN_GIB},
    Dimension.PRICE_PER_ENERGY: {f"{MONEY}/kWh": 1.0, f"{MONEY}/MWh": 0.001},
    Dimension.DURATION: {"years": 1.0, "year": 1.0, "months": 1 / 12.0},
}


@dataclass(frozen=True)
class Interval:
    """A nominal value and the interval in which the truth is believed to lie, in the canonical unit."""

    nominal: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Interval:
        """Return the interval of a value that is known."""
        return cls(value, value, value)

    @property
    def is_exact(self) -> bool:
        """Tell whether the interval is one point."""
        return self.low == self.high

    def scaled(self, factor: float) -> Interval:
        """Return the interval in another unit."""
        return Interval(self.nominal * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Range:
    """The values an input may take, in the canonical unit."""

    low: float
    high: float = math.inf
    low_open: bool = False  # low itself is not valid
    high_open: bool = False  # high itself is not valid

    def __contains__(self, value: float) -> bool:
        """Tell whether the value is valid; NaN and infinity never are."""
        above = value > self.low if self.low_open else value >= self.low
        below = value < self.high if self.high_open else value <= self.high
        return math.isfinite(value) and above and below

    def describe(self, name: str, dimension: Dimension, currency: str) -> str:
        """Write the range as an inequality: `0 % <= share <= 100 %`."""
        text = f"{show(self.low, dimension, currency)} {'<' if self.low_open else '<='} {name}"
        if math.isfinite(self.high):
            text += f" {'<' if self.high_open else '<='} {show(self.high, dimension, currency)}"
        return text


def number_within(value: object, valid: Range) -> float | None:
    """Return a JSON or TOML value as a number if it is a valid one: truth values and NaN are not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if number in valid else None


_NUMBER = r"[-+]?(?:\d+(?:\.\d+|\.(?!\.))?|\.\d+)(?:[eE][-+]?\d+)?"
_QUANTITY = re.compile(
    rf"^\s*(?P<first>{_NUMBER})\s*"
    rf"(?:\.\.\s*(?P<to>{_NUMBER})|in\s+(?P<low>{_NUMBER})\s*\.\.\s*(?P<high>{_NUMBER}))?"
    r"\s*(?P<unit>[^\d\s].*?)?\s*$"
)


def parse(text: str | float, dimension: Dimension, field: str, currency: str = "USD") -> Interval:
    """Read a quantity with its unit and interval into the canonical unit of `dimension`.

    A bare number is accepted only where the dimension has no unit. Raises `InputError`, naming `field`.
    """
    match = _QUANTITY.match(str(text))
    if isinstance(text, bool) or match is None:
        valid = f"a number, LOW..HIGH or N in LOW..HIGH, then the unit ({units_of(dimension, currency)})"
        raise InputError(Code.NOT_A_QUANTITY, field, f"{text!r} is not a quantity", valid)
    unit = (match["unit"] or "").replace(currency, MONEY)
    factor = UNITS[dimension].get(unit)
    if factor is None:
        found = f"unit {match['unit']!r}" if match["unit"] else f"{text} has no unit"
        raise InputError(Code.WRONG_UNIT, field, found, f"a number in {units_of(dimension, currency)}")
    first = float(match["first"])
    if match["to"] is not None:
        low, high = first, float(match["to"])
        nominal = (low + high) / 2
    elif match["low"] is not None:
        nominal, low, high = first, float(match["low"]), float(match["high"])
    else:
        nominal = low = high = first
    if not low <= nominal <= high:
        raise InputError(
            Code.NOT_A_QUANTITY, field, f"{text!r} is out of order", "LOW..HIGH with LOW <= nominal <= HIGH"
        )
    return Interval(nominal, low, high).scaled(factor)


def units_of(dimension: Dimension, currency: str) -> str:
    """List the units that a dimension accepts."""
    names = [unit.replace(MONEY, currency) or "no unit" for unit in UNITS[dimension]]
    return ", ".join(names)


def unit_name(dimension: Dimension, currency: str) -> str:
    """Name the canonical unit, with the currency filled in; empty for a plain ratio."""
    return dimension.value.replace(MONEY, currency)


def show(value: float, dimension: Dimension, currency: str = "USD") -> str:
    """Write a value for people, with its unit."""
    if dimension is Dimension.FRACTION:
        return f"{100 * value:.4g} %"
    number = f"{value:,.0f}" if 10_000 <= abs(value) < 1e12 else f"{value:.4g}"
    if dimension in (Dimension.RATIO, Dimension.COUNT):
        return number
    return f"{number} {unit_name(dimension, currency)}"


def show_interval(value: Interval, dimension: Dimension, currency: str = "USD") -> str:
    """Write an interval for people: `4.2 USD/GiB (2.5 .. 19)`."""
    nominal = show(value.nominal, dimension, currency)
    if value.is_exact:
        return nominal
    low, high = (show(end, dimension, currency) for end in (value.low, value.high))
    unit = unit_name(dimension, currency)
    return f"{nominal} ({low.removesuffix(unit).strip()} .. {high.removesuffix(unit).strip()})"
