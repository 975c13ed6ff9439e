"""Options that several benches have, each declared once.

where   machine, placement and outputs, or this host
load    what load threads do
drawn   a curve's plot
paged   pages and page tables
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from cxlab.bench.request import PAGES, Placement
from cxlab.cli import bench_host
from cxlab.cli.machine_option import machine_option
from cxlab.cli.output_file import json_option, plot_option
from cxlab.error import Code, InputError

F = TypeVar("F", bound=Callable[..., Any])
PLACEMENT = ("node", "interleave", "weighted_interleave")


def where(command: F) -> F:
    """Give a bench its machine, placement and outputs, or this host."""

    @functools.wraps(command)
    def run(host: bool, **given: Any) -> Any:
        if host and given.pop("seeds") != 1:
            raise InputError(
                Code.BENCH, "--seeds", "this host's accesses are not drawn", "--seeds without --host"
            )
        if host:
            return bench_host.measure(command.__name__.replace("_", "-"), given)
        machine, *named = (given.pop(option) for option in ("machine", *PLACEMENT))
        if not machine:
            raise InputError(Code.BENCH, "--machine", "is not given", "--machine NAME, or --host")
        return command(machine=machine, placement=Placement.parse(*named), **given)

    for option in reversed(
        (
            machine_option(),
            click.option("--host", is_flag=True, help="Measure this host instead, with cxlab-memo."),
            click.option(
                "--node",
                metavar="NODE",
                help="Put all lines on this node. With --host: the node's number.  Example: cxl",
            ),
            click.option(
                "--interleave",
                metavar="NODES",
                help="Put pages on these nodes in turn.  Example: dram,cxl",
            ),
            click.option(
                "--weighted-interleave",
                metavar="NODE=N,..",
                help="Put as many pages in a row on each node as its weight.  Example: dram=3,cxl=1",
            ),
            click.option(
                "--prefetch/--no-prefetch",
                default=None,
                help="Switch the cores' prefetchers on or off.  [default: as in the machine's host file]",
            ),
            click.option(
                "--seeds",
                default=1,
                show_default=True,
                type=click.IntRange(1, 1000),
                help="Draw the orders of accesses with so many seeds, and show the spread.  Example: 8",
            ),
            json_option,
        )
    ):
        run = option(run)
    return run  # type: ignore[return-value]


isa_option = click.option(
    "--isa",
    default="avx512",
    show_default=True,
    type=click.Choice(["avx512", "avx2"]),
    help="Vectors of the load threads: a line in one access, or in two.",
)
chase_option = click.option(
    "--chase",
    default="blocks",
    show_default=True,
    type=click.Choice(["blocks", "buffer"]),
    help="Order of the latency thread: within blocks (Intel MLC), or over its buffer (lat_mem_rd, Mess).",
)


def threads_option(least: int) -> Callable[[F], F]:
    """Give a bench its number of load threads. A bench with a latency thread can have none."""
    return click.option(
        "--threads",
        default=16,
        show_default=True,
        type=click.IntRange(least, 64),
        help="Number of load threads.",
    )


store_option = click.option(
    "--store",
    default="ordinary",
    show_default=True,
    type=click.Choice(["ordinary", "nontemporal"]),
    help="Kind of store: `ordinary` reads the line to own it, `nontemporal` does not.",
)


def load(command: F) -> F:
    """Options of what load threads do."""
    for option in reversed(
        (
            threads_option(least=0),
            click.option(
                "--mix",
                default="1:0",
                show_default=True,
                metavar="R:W",
                help="Ratio of lines read to lines written at the memory.  Example: 2:1",
            ),
            store_option,
            click.option(
                "--pattern",
                default="sequential",
                show_default=True,
                type=click.Choice(["sequential", "random"]),
                help="Order in which a load thread touches its lines.",
            ),
            isa_option,
        )
    ):
        command = option(command)
    return command


def drawn(command: F) -> F:
    """Options of a bench that is a curve."""
    beside = click.option(
        "--beside", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Draw the curves of this JSON file too. Repeatable.  Example: host.json",
    )  # fmt: skip
    return plot_option(beside(command))


def paged(command: F) -> F:
    """Options of what pages buffers are made of, and where the page tables are."""
    for option in reversed(
        (
            click.option(
                "--pages",
                default=PAGES[0],
                show_default=True,
                type=click.Choice(PAGES),
                help="Size of the buffers' pages.",
            ),
            click.option(
                "--page-tables",
                metavar="NODE",
                help="Node of the page tables.  [default: the machine's first node]  Example: cxl",
            ),
        )
    ):
        command = option(command)
    return command


#: What options in ratios of a device's cache do.
OF_CACHE = "Make all buffers together this many times as large as the device's cache. For nodes of flash."
RATIO = click.FloatRange(min=0, min_open=True)
of_cache_option = click.option("--of-cache", type=RATIO, metavar="RATIO", help=f"{OF_CACHE}  Example: 0.67")
of_caches_option = click.option(
    "--of-cache",
    "of_caches",
    multiple=True,
    type=RATIO,
    metavar="RATIO",
    help=f"{OF_CACHE} Repeatable: one point for each.  Example: 0.67",
)
