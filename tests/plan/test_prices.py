"""The price books that ship, and what is wrong with those that do not load."""

from datetime import date
from pathlib import Path

import pytest
from cxlab.error import Code, InputError
from cxlab.plan.assumption import Origin
from cxlab.plan.prices import Price, PriceBook, book_path, read_price_book, shipped_books
from cxlab.plan.quantity import Dimension


@pytest.fixture(params=shipped_books(), ids=lambda path: path.stem)
def book(request: pytest.FixtureRequest) -> PriceBook:
    return read_price_book(request.param)


def test_every_entry_has_a_source_and_a_date(book: PriceBook) -> None:
    assert [a.key for a in book.assumptions()] == [price.key for price in Price]
    assert all(a.provenance.source and a.provenance.date for a in book.assumptions())


def test_is_named_by_its_date(book: PriceBook) -> None:
    assert book.name == book.date


def test_what_is_assumed_and_not_free_has_an_interval(book: PriceBook) -> None:
    for a in book.assumptions():
        if a.provenance.origin is Origin.ASSUMED and a.value.nominal > 0:
            assert not a.value.is_exact, a.key


def test_a_cxl_controller_takes_the_memory_it_is_priced_with(book: PriceBook) -> None:
    assert book.entries[Price.CXL_CONTROLLER_CAPACITY].value.nominal == 4 * 64  # four 64 GB RDIMMs


def test_age_is_in_months() -> None:
    book = read_price_book(book_path("2026-01"))
    assert (book.age(date(2026, 1, 31)), book.age(date(2027, 3, 1))) == (0, 14)


def test_the_newest_book_is_the_default() -> None:
    assert book_path(None).stem == max(path.stem for path in shipped_books())


def test_a_book_may_hold_only_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'date = "2026-11"\ncurrency = "USD"\nextends = "2026-01"\n'
        '[price.power_price]\nvalue = "0.2 USD/kWh"\norigin = "typed"\nsource = "our bill"\ndate = "2026"\n'
    )
    mine, base = read_price_book(path), read_price_book(book_path("2026-01"))
    assert mine.entries[Price.POWER_PRICE].value.nominal == 0.2
    assert mine.entries[Price.POWER_PRICE].provenance.source == "our bill"
    assert {p: a for p, a in mine.entries.items() if p is not Price.POWER_PRICE} == {
        p: a for p, a in base.entries.items() if p is not Price.POWER_PRICE
    }


def test_one_price_is_replaced_for_one_command() -> None:
    book = read_price_book(book_path(None)).set_price("cxl_controller_price=250 in 200..300 USD")
    entry = book.entries[Price.CXL_CONTROLLER_PRICE]
    assert (entry.value.low, entry.value.nominal, entry.value.high) == (200, 250, 300)
    assert entry.provenance.origin is Origin.TYPED


ENTRY = '[price.{key}]\nvalue = "{value}"\norigin = "{origin}"\nsource = "s"\ndate = "2026"\n'
HEAD = 'date = "2026-11"\ncurrency = "USD"\nextends = "2026-01"\n'


@pytest.mark.parametrize(
    ("text", "code", "field", "valid"),
    [
        (HEAD + ENTRY.format(key="dram_price", value="-1 USD/GiB", origin="typed"), Code.OUT_OF_RANGE,
         ":5: [price.dram_price] value", "0 USD/GiB <= dram_price"),
        (HEAD + ENTRY.format(key="dram_price", value="1 USD", origin="typed"), Code.WRONG_UNIT,
         ":5: [price.dram_price] value", "USD/GiB"),
        (HEAD + ENTRY.format(key="dram_cost", value="1 USD", origin="typed"), Code.UNKNOWN_KEY,
         ":5: [price.dram_cost] value", "dram_price"),
        (HEAD + ENTRY.format(key="dram_price", value="1 USD/GiB", origin="guess"), Code.NOT_A_QUANTITY,
         ":6: [price.dram_price] origin", "published or assumed"),
        (HEAD + ENTRY.format(key="power_usage_effectiveness", value="0.9", origin="typed"), Code.OUT_OF_RANGE,
         ":5: [price.power_usage_effectiveness] value", "1 <= power_usage_effectiveness"),
        (HEAD + "colour = 1\n[price]\n", Code.UNKNOWN_KEY, ":4: colour", "currency, date, extends, price"),
        (HEAD.replace("USD", "EUR") + "[price]\n", Code.CONFLICT, ":2: currency", "USD"),
        ('date = "today"\ncurrency = "USD"\n[price]\n', Code.NOT_A_QUANTITY, ":1: date", "YYYY-MM"),
        ('date = "2026-11"\ncurrency = "USD"\n[price]\n', Code.MISSING, "[price.server_price]", "value,"),
        ("date = \n", Code.UNREADABLE, "book.toml", "TOML"),
        (HEAD.replace("2026-01", "book") + "[price]\n", Code.CONFLICT, "book.toml", "without `extends`"),
    ],
)  # fmt: skip
def test_names_file_line_and_key(tmp_path: Path, text: str, code: Code, field: str, valid: str) -> None:
    path = tmp_path / "book.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_price_book(path)
    assert caught.value.code is code
    assert str(path) in caught.value.field
    assert field in caught.value.field
    assert valid in caught.value.valid


@pytest.mark.parametrize(
    "setting", ["dram_price", "dram_price=cheap", "dram=1 USD/GiB", "dram_price=-2 USD/GiB"]
)
def test_a_wrong_setting_is_named(setting: str) -> None:
    with pytest.raises(InputError) as caught:
        read_price_book(book_path(None)).set_price(setting)
    assert setting in caught.value.field


def test_an_unknown_book_lists_those_that_ship() -> None:
    with pytest.raises(InputError) as caught:
        book_path("1999-01")
    assert "2026-01" in caught.value.valid


def test_every_dimension_of_the_book_has_a_unit() -> None:
    plain = {price.key for price in Price if price.value.dimension in (Dimension.RATIO, Dimension.COUNT)}
    assert plain == {"power_usage_effectiveness"}
