"""Options that several benches have, each declared once. A group of options comes to the bench as one object.

where   Where   machine, placement and outputs, or this host
load    Load    what load threads do
drawn   Drawn   a curve's plot
paged   Paged   pages and page tables
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from cxlab.bench.request import PAGES, Mix, Placement, Workload
from cxlab.border import Isa, Pages, Pattern, Store
from cxlab.cli import bench_host
from cxlab.cli.machine_option import machine_option
from cxlab.cli.option_group import grouped, taken
from cxlab.cli.output_file import json_option, plot_option
from cxlab.error import Code, InputError
from cxlab.run.options import checks

F = TypeVar("F", bound=Callable[..., Any])
PLACEMENT = ("node", "interleave", "weighted_interleave")


@dataclass(frozen=True)
class Where:
    """The simulated memory that a bench measures, and where its results go."""

    machine: str
    placement: Placement
    #: of the cores; as the host file has them where it is ``None``
    prefetch: bool | None
    seeds: int
    check: bool
    json_file: Path | None

    def workload(self, threads: int = 0) -> Workload:
        """Load threads on this memory."""
        return Workload(self.machine, self.placement, threads, prefetch=self.prefetch, check=self.check)


@dataclass(frozen=True)
class Load:
    """Work of the load threads."""

    threads: int
    mix: str
    store: Store
    pattern: Pattern
    isa: Isa

    def on(self, where: Where) -> Workload:
        """These threads on a memory."""
        return replace(
            where.workload(self.threads),
            mix=Mix.parse(self.mix),
            store=self.store,
            pattern=self.pattern,
            isa=self.isa,
        )


@dataclass(frozen=True)
class Drawn:
    """File of a drawn curve, and the files with the curves beside it."""

    plot_file: Path | None
    beside: tuple[Path, ...]


@dataclass(frozen=True)
class Paged:
    """Size of the buffers' pages, and the node of the page tables."""

    pages: Pages
    page_tables: str | None

    def on(self, workload: Workload) -> Workload:
        """A workload with these pages."""
        return replace(workload, pages=self.pages, page_tables=self.page_tables)


def where(command: F) -> F:
    """Give a bench its machine, placement and outputs, or this host. Stands above all other groups."""

    @functools.wraps(command)
    def run(host: bool, **given: Any) -> Any:
        if host and given.pop("check"):
            raise InputError(
                Code.BENCH, "--check", "checks the simulator, and this host is none", "--host without --check"
            )
        if host and given.pop("seeds") != 1:
            raise InputError(
                Code.BENCH, "--seeds", "this host's accesses are not drawn", "--seeds without --host"
            )
        if host:
            return bench_host.measure(command.__name__.replace("_", "-"), given)
        if not given["machine"]:
            raise InputError(Code.BENCH, "--machine", "is not given", "--machine NAME, or --host")
        given["placement"] = Placement.parse(*(given.pop(option) for option in PLACEMENT))
        return command(where=taken(Where, given), **given)

    for option in reversed(
        (
            machine_option(),
            click.option(
                "--host",
                is_flag=True,
                help="Measure this computer, with cxlab-memo, not a simulated machine.  [default: off]",
            ),
            click.option(
                "--node",
                metavar="NODE",
                help="Put all lines on this node. With --host: the node's number.  Example: cxl",
            ),
            click.option(
                "--interleave",
                metavar="NODES",
                help="Put pages on these nodes in turn, one page each.  Example: dram,cxl",
            ),
            click.option(
                "--weighted-interleave",
                metavar="NODE=N,..",
                help="Put pages on these nodes in turn, as many in a row as the node's weight.  "
                "Example: dram=3,cxl=1",
            ),
            click.option(
                "--prefetch/--no-prefetch",
                default=None,
                help="Switch the cores' prefetchers on or off.  [default: as in the machine's host file]",
            ),
            seeds_option("the table shows the spread"),
            click.option(checks.OPTION.flag, help=checks.OPTION.help, **checks.OPTION.settings),
            json_option,
        )
    ):
        run = option(run)
    return run  # type: ignore[return-value]


def seeds_option(made_of_them: str) -> Callable[[F], F]:
    """Give the option for the number of draws, and say what is made of them."""
    return click.option(
        "--seeds",
        default=1,
        show_default=True,
        type=click.IntRange(1, 1000),
        help=f"Number of seeds. Each draws its own order of accesses; {made_of_them}.  Example: 8",
    )


isa_option = click.option(
    "--isa",
    default="avx512",
    show_default=True,
    type=click.Choice(["avx512", "avx2"]),
    help="Vectors of the load threads: `avx512` reads a line in one access, `avx2` in two.",
)
chase_option = click.option(
    "--chase",
    default="blocks",
    show_default=True,
    type=click.Choice(["blocks", "buffer"]),
    help="Order in which the latency thread reads: within `blocks`, as Intel MLC does, or over its "
    "whole `buffer`, "
    "as lat_mem_rd and Mess do.",
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


load = grouped(
    "load",
    Load,
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
drawn = grouped(
    "drawn",
    Drawn,
    plot_option,
    click.option(
        "--beside",
        multiple=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Draw the curves of this JSON file too. Repeatable.  Example: host.json",
    ),
)
paged = grouped(
    "paged",
    Paged,
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
