"""The price book: prices of a server, its memory and its power. Each entry has its date and its source.

Books are TOML files in `data/prices/`, named by their date; the newest is the default. A book may extend
another and hold only the entries that differ. `set_price` overrides one entry for one command.
"""

from __future__ import annotations

import datetime
import os
import re
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from cxlab.error import Code, InputError
from cxlab.plan.assumption import Assumption, Origin, Provenance
from cxlab.plan.quantity import Dimension, Interval, Range, parse
from cxlab.plan.toml_file import TomlFile

_ANY = Range(0.0)
_SOME = Range(0.0, low_open=True)


@dataclass(frozen=True)
class Kind:
    """The meaning of an entry of a price book."""

    meaning: str
    dimension: Dimension
    valid: Range


class Price(Enum):
    """The entries of a price book; all are required."""

    SERVER_PRICE = Kind("price of a server without memory", Dimension.PRICE, _SOME)
    DRAM_PRICE = Kind("price of main memory", Dimension.PRICE_PER_CAPACITY, _ANY)
    CXL_MEMORY_PRICE = Kind("price of CXL memory", Dimension.PRICE_PER_CAPACITY, _ANY)
    CXL_CONTROLLER_PRICE = Kind("price of a CXL controller", Dimension.PRICE, _ANY)
    CXL_CONTROLLER_CAPACITY = Kind("most memory behind one CXL controller", Dimension.CAPACITY, _SOME)
    CXL_BOARD_PRICE = Kind("price of a CXL controller's board", Dimension.PRICE, _ANY)
    CXL_CABLE_PRICE = Kind("price of a CXL controller's cable", Dimension.PRICE, _ANY)
    CXL_SWITCH_PRICE = Kind("price of a server's share of a CXL switch", Dimension.PRICE, _ANY)
    SERVER_POWER = Kind("mean power of a server without memory", Dimension.POWER, _ANY)
    DRAM_POWER = Kind("mean power of main memory", Dimension.POWER_PER_CAPACITY, _ANY)
    CXL_MEMORY_POWER = Kind("mean power of CXL memory", Dimension.POWER_PER_CAPACITY, _ANY)
    CXL_CONTROLLER_POWER = Kind("mean power of a CXL controller", Dimension.POWER, _ANY)
    CXL_SWITCH_POWER = Kind("mean power of a server's share of a CXL switch", Dimension.POWER, _ANY)
    POWER_USAGE_EFFECTIVENESS = Kind("site power over server power (PUE)", Dimension.RATIO, Range(1.0))
    POWER_PRICE = Kind("price of electric energy", Dimension.PRICE_PER_ENERGY, _ANY)
    LIFETIME = Kind("years a server is in use", Dimension.DURATION, _SOME)
    DISCOUNT_RATE = Kind("discount rate, per year", Dimension.FRACTION, Range(0.0, 1.0))

    @property
    def key(self) -> str:
        """Name of the entry in a price book."""
        return self.name.lower()


def price_of(key: str, field: str) -> Price:
    """Find an entry by its key. Raises `InputError` listing the valid keys."""
    for price in Price:
        if price.key == key:
            return price
    raise InputError(Code.UNKNOWN_KEY, field, f"unknown price {key!r}", ", ".join(p.key for p in Price))


@dataclass(frozen=True)
class PriceBook:
    """All entries of `Price`, in one currency."""

    name: str
    date: str
    currency: str
    entries: dict[Price, Assumption]

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return the entries in the order of `Price`."""
        return tuple(self.entries[price] for price in Price)

    def age(self, today: datetime.date) -> int:
        """Return the months from the book's date to `today`."""
        year, month = (int(part) for part in self.date.split("-")[:2])
        return (today.year - year) * 12 + today.month - month

    def set_price(self, setting: str) -> PriceBook:
        """Return the book with one entry replaced by `KEY=VALUE` of the command line."""
        key, equals, text = setting.partition("=")
        field = f"--set {setting}"
        if not equals:
            raise InputError(
                Code.NOT_A_QUANTITY, field, "has no '='", "KEY=VALUE, as in power_price='0.12 USD/kWh'"
            )
        price = price_of(key.strip(), field)
        value = parse(text, price.value.dimension, field, self.currency)
        typed = replace(
            self.entries[price],
            value=value,
            field=field,
            provenance=Provenance(Origin.TYPED, field, "this command"),
        )
        return replace(self, entries={**self.entries, price: typed})


def read_price_book(path: Path) -> PriceBook:
    """Read a price book, with the one it extends. Raises `InputError`."""
    return _read(path, ())


def _read(path: Path, extended_by: tuple[Path, ...]) -> PriceBook:
    if path.resolve() in extended_by:
        raise InputError(
            Code.CONFLICT, str(path), "extends itself", "a book that ends in one without `extends`"
        )
    file = TomlFile.read(path)
    file.check_keys("", file.content, {"date", "currency", "extends", "price"})
    dated = _text(file, file.content, "", "date", r"\d{4}-\d{2}(-\d{2})?", "a date YYYY-MM or YYYY-MM-DD")
    currency = _text(file, file.content, "", "currency", r"[A-Z]{3}", "an ISO 4217 code such as USD")
    entries: dict[Price, Assumption] = {}
    if "extends" in file.content:
        base = _read(_extended(file), (*extended_by, path.resolve()))
        if base.currency != currency:
            field = file.field("", "currency")
            raise InputError(Code.CONFLICT, field, f"is {currency}", f"{base.currency}, as in {base.name}")
        entries = dict(base.entries)
    prices = file.table("price")
    for key, entry in prices.items():
        price = price_of(key, file.field(f"price.{key}", "value"))
        entries[price] = _entry(file, price, entry, currency)
    for price in Price:
        if price not in entries:
            valid = f"a table [price.{price.key}] with value, origin, source, date"
            raise InputError(Code.MISSING, f"{path}: [price.{price.key}]", "is not there", valid)
    return PriceBook(path.stem, dated, currency, entries)


def _extended(file: TomlFile) -> Path:
    name = _text(file, file.content, "", "extends", r".+", "the name or path of a price book")
    return book_path(name, file.path.parent)


def _entry(file: TomlFile, price: Price, entry: object, currency: str) -> Assumption:
    table = f"price.{price.key}"
    if not isinstance(entry, dict):
        raise InputError(Code.NOT_A_QUANTITY, file.field(table, "value"), "is not a table", f"[{table}]")
    file.check_keys(table, entry, {"value", "origin", "source", "date"})
    if "value" not in entry:
        raise InputError(Code.MISSING, file.field(table, "value"), "is not there", "a number with a unit")
    origins = "|".join(origin.value for origin in Origin)
    value: Interval = parse(entry["value"], price.value.dimension, file.field(table, "value"), currency)
    return Assumption(
        key=price.key,
        meaning=price.value.meaning,
        dimension=price.value.dimension,
        value=value,
        valid=price.value.valid,
        provenance=Provenance(
            Origin(_text(file, entry, table, "origin", origins, origins.replace("|", " or "))),
            _text(file, entry, table, "source", r".+", "where the value is from"),
            _text(file, entry, table, "date", r"\d{4}(-\d{2}){0,2}", "a date YYYY, YYYY-MM or YYYY-MM-DD"),
        ),
        field=file.field(table, "value"),
        currency=currency,
    )


def _text(file: TomlFile, found: dict[str, object], table: str, key: str, pattern: str, valid: str) -> str:
    value = found.get(key)
    if value is None:
        raise InputError(Code.MISSING, file.field(table, key), "is not there", valid)
    if not isinstance(value, str) or re.fullmatch(pattern, value) is None:
        raise InputError(Code.NOT_A_QUANTITY, file.field(table, key), f"is {value!r}", valid)
    return value


def shipped_books() -> list[Path]:
    """List the price books that ship with CXLab, oldest first."""
    return sorted(_folder().glob("*.toml"))


def _folder() -> Path:
    data = os.environ.get("CXLAB_DATA")
    root = Path(data) if data else Path(__file__).resolve().parents[3] / "data"
    return root / "prices"


def book_path(name: str | None, beside: Path | None = None) -> Path:
    """Find a book by path or by the name of one that ships; None asks for the newest. Raises `InputError`."""
    books = shipped_books()
    if name is None:
        if not books:
            raise InputError(
                Code.MISSING,
                str(_folder()),
                "holds no price book",
                "YYYY-MM.toml",
                "name one with --prices FILE",
            )
        return books[-1]
    for candidate in ([beside / name, beside / f"{name}.toml"] if beside else []) + [Path(name)]:
        if candidate.is_file():
            return candidate
    for book in books:
        if book.stem == name:
            return book
    shipped = ", ".join(book.stem for book in books)
    raise InputError(Code.UNREADABLE, f"price book {name!r}", "no such file", f"a file, or one of {shipped}")
