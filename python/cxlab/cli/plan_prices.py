"""``cxlab plan prices``, and the price book that other commands of ``cxlab plan`` are asked to use."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, TypeVar

import click
from rich.console import Console

from cxlab.plan.output import print_assumptions
from cxlab.plan.prices import PriceBook, book_path, read_price_book, shipped_books

F = TypeVar("F", bound=Callable[..., Any])
OLD_MONTHS = 12  # memory doubled in price within six months of 2025 (data/prices/2026-01.toml)


def price_options(command: F) -> F:
    """Add the options that choose and change the price book."""
    book = click.option(
        "--prices",
        metavar="BOOK",
        help="Price book: a file, or the name of a book that ships.  Example: 2026-01",
    )
    sets = click.option(
        "--set", "settings", multiple=True, metavar="KEY=VALUE",
        help="Replace one price. Repeatable.  Example: 'cxl_memory_price=3 USD/GiB'",
    )  # fmt: skip
    return book(sets(command))


def read_book(prices: str | None, settings: tuple[str, ...]) -> PriceBook:
    """The book that was asked for, with the prices that replace its own. An old one gets a note."""
    book = read_price_book(book_path(prices))
    for setting in settings:
        book = book.set_price(setting)
    months = book.age(date.today())
    if months > OLD_MONTHS:
        click.echo(
            f"note: price book {book.name} is {months} months old; name a newer one with --prices", err=True
        )
    return book


@click.command("prices")
@price_options
def command(prices: str | None, settings: tuple[str, ...]) -> None:
    """Show the price book.

    Each entry has an interval, a source and a date. Example: cxlab plan prices
    """
    book = read_book(prices, settings)
    names = ", ".join(path.stem for path in shipped_books())
    click.echo(f"price book {book.name} of {book.date}, in {book.currency}; shipped: {names}")
    print_assumptions(Console(), book.assumptions())
