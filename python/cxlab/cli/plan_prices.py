"""``cxlab plan prices``, and the price book that other commands of ``cxlab plan`` are asked to use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import click
from rich.console import Console

from cxlab.cli.option_group import grouped
from cxlab.plan.output import print_assumptions
from cxlab.plan.prices import PriceBook, book_path, read_price_book, shipped_books

OLD_MONTHS = 12  # memory doubled in price within six months of 2025 (data/prices/2026-01.toml)


@dataclass(frozen=True)
class Prices:
    """The price book that was asked for, and the prices that replace its own."""

    prices: str | None
    settings: tuple[str, ...]

    @property
    def flag(self) -> str | None:
        """An option of these that was given."""
        if self.prices is not None:
            return "--prices"
        return "--set" if self.settings else None

    def read(self) -> PriceBook:
        """The book. An old one gets a note."""
        book = read_price_book(book_path(self.prices))
        for setting in self.settings:
            book = book.set_price(setting)
        months = book.age(date.today())
        if months > OLD_MONTHS:
            click.echo(
                f"note: price book {book.name} is {months} months old; name a newer one with --prices",
                err=True,
            )
        return book


prices = grouped(
    "prices",
    Prices,
    click.option(
        "--prices",
        metavar="BOOK",
        help="Price book: a file, or the name of a book that ships.  Example: 2026-01",
    ),
    click.option(
        "--set", "settings", multiple=True, metavar="KEY=VALUE",
        help="Replace one price. Repeatable.  Example: 'cxl_memory_price=3 USD/GiB'",
    ),
)  # fmt: skip


@click.command("prices")
@prices
def command(prices: Prices) -> None:
    """Show the price book.

    Each entry has an interval, a source and a date.

    Example: cxlab plan prices
    """
    book = prices.read()
    names = ", ".join(path.stem for path in shipped_books())
    click.echo(f"price book {book.name} of {book.date}, in {book.currency}; shipped: {names}")
    print_assumptions(Console(), book.assumptions())
