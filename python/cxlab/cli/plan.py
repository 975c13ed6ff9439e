"""`cxlab plan`: what CXL memory does to a bill.

    cxlab plan cost         one application: the Abstract Cost Model, with prices and uncertainty
    cxlab plan mix          several applications, one server design for all
    cxlab plan spare-cores  revenue of vCPUs that lack memory
    cxlab plan prices       the price book, each entry with its source and date

Wrong input ends with exit status 2 and a message that names the field and its valid range.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.console import Console
from rich.progress import Progress

from cxlab.cli.output_file import json_option
from cxlab.error import Code, InputError
from cxlab.output import write_json, write_text
from cxlab.plan import abstract_cost_model, spare_cores
from cxlab.plan.applications import EXAMPLE, read_applications
from cxlab.plan.assumption import Assumption, Origin, Provenance
from cxlab.plan.cost_study import CostStudy, PricedServers
from cxlab.plan.output import percent, print_assumptions
from cxlab.plan.prices import PriceBook, book_path, read_price_book, shipped_books
from cxlab.plan.quantity import Dimension, GiB, Interval, Range, parse, show
from cxlab.plan.runs import measure, read_runs, read_throughput

if TYPE_CHECKING:
    from cxlab.plan.cost_report import CostReport

F = TypeVar("F", bound=Callable[..., Any])
OLD_MONTHS = 12  # memory doubled in price within six months of 2025 (data/prices/2026-01.toml)
QUANTITY = "N, LOW..HIGH or 'N in LOW..HIGH'"


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


def result_options(command: F) -> F:
    """Add the options that say where results go."""
    plots = click.option(
        "--plot",
        "plot_folder",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Folder for plots (PNG, SVG) and CSV files.  Example: plots",
    )
    seed = click.option(
        "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of the random draws."
    )
    return json_option(plots(seed(command)))


@click.group()
def command() -> None:
    """Work out what CXL memory does to a bill.

    Example: cxlab plan cost --r-d 10 --r-c 8 --c 2 --r-t 1.1
    """


@command.command()
@click.option(
    "--r-d", metavar=QUANTITY, help="R_d: throughput with all data in main memory, over all on SSD."
)
@click.option("--r-c", metavar=QUANTITY, help="R_c: throughput with all data in CXL memory, over all on SSD.")
@click.option(
    "--c",
    "c",
    required=True,
    metavar=QUANTITY,
    help="C: capacity of main memory over CXL memory, in a CXL server.",
)
@click.option(
    "--r-t", metavar=QUANTITY, help="R_t: TCO of a CXL server over a baseline server.  [default: from prices]"
)
@click.option(
    "--dram",
    metavar="CAPACITY",
    help="D: main memory of a server. With prices, gives R_t.  Example: '512 GiB'",
)
@click.option(
    "--from-run",
    "from_runs",
    multiple=True,
    metavar="[TIER=]PATH",
    help="Take R_d and R_c from results of `cxlab run` or `cxlab bench`. Repeatable.  Example: cxl=out",
)
@click.option(
    "--throughput",
    "throughputs",
    multiple=True,
    metavar="'TIER=N UNIT'",
    help="Take R_d and R_c from figures of a benchmark. Repeatable.  Example: 'cxl=81 kops/s'",
)
@click.option("--servers", type=int, help="Number of servers of the baseline cluster.  Example: 100")
@click.option(
    "--working-set",
    metavar="CAPACITY",
    help="Check that the model holds for this working set. Needs --dram and --servers.",
)
@click.option(
    "--draws", type=click.IntRange(1), default=5000, show_default=True, help="Number of random draws."
)
@click.option(
    "--html",
    "html_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write one HTML file with a slider for each input; it needs no network.  Example: cost.html",
)
@price_options
@result_options
def cost(
    r_d: str | None,
    r_c: str | None,
    c: str,
    r_t: str | None,
    dram: str | None,
    from_runs: tuple[str, ...],
    throughputs: tuple[str, ...],
    servers: int | None,
    working_set: str | None,
    draws: int,
    html_file: Path | None,
    prices: str | None,
    settings: tuple[str, ...],
    json_file: Path | None,
    plot_folder: Path | None,
    seed: int,
) -> None:
    """Compare servers with CXL memory to servers without.

    One application runs on all of them. The model is the Abstract Cost Model of EuroSys'24, section 6.
    Example: cxlab plan cost --r-d 10 --r-c 8 --c 2 --r-t 1.1
    """
    from cxlab.plan.cost_report import (
        CostReport,
    )  # here, so that `cxlab --help` waits for no plotting library

    relative = _throughput(r_d, r_c, from_runs, throughputs)
    study = CostStudy(
        *relative, _ratio("c", c, abstract_cost_model.C_RANGE), _tco(r_t, dram, prices, settings)
    )
    report = CostReport(study, draws, seed)
    _fleet(report, servers, dram, working_set)
    _leave(report.write_plots, report.as_json, plot_folder, json_file)
    if html_file is not None:
        from cxlab.report import of_cost, page

        write_text(html_file, page.html(of_cost.report(report)))
        click.echo(f"wrote {html_file}", err=True)
    report.print(Console())


def _throughput(
    r_d: str | None, r_c: str | None, from_runs: tuple[str, ...], throughputs: tuple[str, ...]
) -> tuple[Assumption, Assumption]:
    """Return R_d and R_c, typed or measured."""
    if not from_runs and not throughputs:
        for flag, text in (("--r-d", r_d), ("--r-c", r_c)):
            if text is None:
                raise InputError(
                    Code.MISSING, flag, "is not there", f"{flag} {QUANTITY}, or --from-run, --throughput"
                )
        assert r_d is not None and r_c is not None
        return (
            _ratio("r_d", r_d, abstract_cost_model.R_D_RANGE),
            _ratio("r_c", r_c, abstract_cost_model.R_C_RANGE),
        )
    if r_c is not None:
        raise InputError(
            Code.CONFLICT, "--r-c", "given beside measurements", "one of --r-c, --from-run and --throughput"
        )
    runs = [run for argument in from_runs for run in read_runs(argument)]
    runs += [read_throughput(argument) for argument in throughputs]
    typed = None if r_d is None else _ratio("r_d", r_d, abstract_cost_model.R_D_RANGE)
    measured = measure(runs, None if typed is None else typed.value)
    provenance = Provenance(Origin.MEASURED, measured.source, "as the runs are")
    first = typed or _ratio("r_d", measured.r_d, abstract_cost_model.R_D_RANGE, provenance)
    return first, _ratio("r_c", measured.r_c, abstract_cost_model.R_C_RANGE, provenance)


_MEANINGS = {
    "r_d": "R_d, throughput all in main memory over all on SSD",
    "r_c": "R_c, throughput all in CXL memory over all on SSD",
    "c": "C, main memory over CXL memory of a CXL server",
    "r_t": "R_t, TCO of a CXL server over a baseline server",
}


def _ratio(key: str, value: str | Interval, valid: Range, provenance: Provenance | None = None) -> Assumption:
    flag = f"--{key.replace('_', '-')}"
    interval = value if isinstance(value, Interval) else parse(value, Dimension.RATIO, flag)
    typed = provenance or Provenance(Origin.TYPED, flag, "this command")
    return Assumption(
        key, _MEANINGS[key], Dimension.RATIO, interval, valid, typed, flag if not provenance else "--from-run"
    )


def _capacity(flag: str, text: str) -> Interval:
    return parse(text, Dimension.CAPACITY, flag)


def _tco(
    r_t: str | None, dram: str | None, prices: str | None, settings: tuple[str, ...]
) -> Assumption | PricedServers:
    """Return R_t as typed, or the servers whose bills give it."""
    if r_t is not None:
        if prices is not None or settings:
            flag = "--prices" if prices is not None else "--set"
            raise InputError(Code.CONFLICT, flag, "given beside --r-t", "a typed --r-t, or prices, not both")
        return _ratio("r_t", r_t, abstract_cost_model.R_T_RANGE)
    if dram is None:
        valid = "--r-t RATIO, or --dram CAPACITY so that the price book gives R_t"
        raise InputError(Code.MISSING, "--r-t", "is not there", valid)
    memory = Assumption(
        "dram",
        "D, main memory of either server",
        Dimension.CAPACITY,
        _capacity("--dram", dram),
        Range(0.0, low_open=True),
        Provenance(Origin.TYPED, "--dram", "this command"),
        "--dram",
    )
    return PricedServers(memory, _book(prices, settings))


def _book(prices: str | None, settings: tuple[str, ...]) -> PriceBook:
    book = read_price_book(book_path(prices))
    for setting in settings:
        book = book.set_price(setting)
    months = book.age(date.today())
    if months > OLD_MONTHS:
        click.echo(
            f"note: price book {book.name} is {months} months old; name a newer one with --prices", err=True
        )
    return book


def _fleet(report: CostReport, servers: int | None, dram: str | None, working_set: str | None) -> None:
    """Take the size of the baseline cluster, and check that the model holds for the working set."""
    if servers is not None:
        report.count_servers(servers)
    if working_set is None:
        return
    if servers is None or dram is None:
        missing = "--servers" if servers is None else "--dram"
        raise InputError(Code.MISSING, missing, "is not there", f"{missing}, which --working-set needs")
    size, memory = _capacity("--working-set", working_set).low, _capacity("--dram", dram).nominal
    report.model.holds_for(GiB(size), GiB(memory), servers)


def _leave(
    write_plots: Callable[[Path], list[Path]],
    as_json: Callable[[], dict[str, object]],
    plot_folder: Path | None,
    json_file: Path | None,
) -> None:
    """Write what was asked for and say where it is."""
    written = [] if plot_folder is None else write_plots(plot_folder)
    if json_file is not None:
        write_json(json_file, as_json())
        written.append(json_file)
    for path in written:
        click.echo(f"wrote {path}", err=True)


def _print_example(context: click.Context, _: click.Parameter, asked: bool) -> None:
    """Print an applications file to start from, and end."""
    if asked:
        click.echo(EXAMPLE, nl=False)
        context.exit()


@command.command()
@click.argument("applications", type=click.Path(path_type=Path))
@click.option(
    "--draws", type=click.IntRange(1), default=100, show_default=True, help="Number of random draws."
)
@click.option(
    "--example",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_example,
    help="Print an applications file to start from.",
)
@click.option("--quick", is_flag=True, help="Find the fleet only, without uncertainty and Pareto frontiers.")
@price_options
@result_options
def mix(
    applications: Path,
    draws: int,
    quick: bool,
    prices: str | None,
    settings: tuple[str, ...],
    json_file: Path | None,
    plot_folder: Path | None,
    seed: int,
) -> None:
    """Find one server design for several applications.

    A mixed-integer program finds the cheapest fleet for the applications in a TOML file. `cxlab plan mix
    --example` prints such a file. Example: cxlab plan mix applications.toml
    """
    from cxlab.plan.mix_report import MixReport  # here, as in `cost`; and the solver

    if quick and plot_folder is not None:
        raise InputError(Code.CONFLICT, "--plot", "given beside --quick", "one of --plot and --quick")
    report = MixReport(read_applications(applications), _book(prices, settings), draws, seed)
    if not quick:
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("solving", total=report.steps)
            report.explore(lambda: progress.advance(task))
    _leave(report.write_plots, report.as_json, plot_folder, json_file)
    report.print(Console())


@command.command("spare-cores")
@click.option("--ratio", default="3 GiB", show_default=True, help="Main memory per vCPU that the server has.")
@click.option(
    "--optimal", default="4 GiB", show_default=True, help="Memory per vCPU that instances are sold with."
)
@click.option("--discount", default="20 %", show_default=True, help="Discount of an instance on CXL memory.")
@click.option("--slowdown", default="12.5 %", show_default=True, help="Throughput lost on CXL memory.")
@click.option(
    "--vcpus",
    type=click.IntRange(1),
    help="Number of vCPUs of the server. Gives the CXL memory that it needs.",
)
@json_option
def spare_cores_command(
    ratio: str, optimal: str, discount: str, slowdown: str, vcpus: int | None, json_file: Path | None
) -> None:
    """Work out the revenue of vCPUs that lack main memory.

    The defaults are the example of EuroSys'24, section 4.3. Example: cxlab plan spare-cores --vcpus 64
    """
    server, sold, price, lost = (
        _capacity("--ratio", ratio),
        _capacity("--optimal", optimal),
        parse(discount, Dimension.FRACTION, "--discount"),
        parse(slowdown, Dimension.FRACTION, "--slowdown"),
    )
    model = spare_cores.SpareCores(server.nominal, sold.nominal, price.nominal, lost.nominal)
    # The improvement falls with ratio and discount and rises with optimal: its ends are at these corners.
    least = spare_cores.SpareCores(server.high, sold.low, price.high, lost.high).improvement
    most = spare_cores.SpareCores(server.low, sold.high, price.low, lost.low).improvement
    ends = "" if least == most else f" ({percent(least)} .. {percent(most)})"
    change = "raises" if model.improvement > 0 else "does not raise"
    click.echo(f"CXL memory for unsold vCPUs {change} revenue: {percent(model.improvement)}{ends}.\n")
    click.echo(f"vCPUs sold with main memory alone  {percent(model.sold_before)}")
    click.echo(f"revenue recovered with CXL memory  {percent(model.recovered)} of the revenue of all vCPUs")
    click.echo(f"improvement in total revenue       {percent(model.improvement)}{ends}")
    click.echo(f"price per performance on CXL       {model.price_per_performance:.3f} of the full price")
    if vcpus is not None:
        needed = show(model.cxl_capacity(vcpus), Dimension.CAPACITY)
        click.echo(f"CXL memory needed                  {needed} for {vcpus} vCPUs")
    click.echo(f"Source: {spare_cores.SOURCE}. {spare_cores.PAPER_NOTE}.")
    if json_file is not None:
        content: dict[str, object] = {
            "ratio_gib": model.ratio,
            "optimal_gib": model.optimal,
            "discount": model.discount,
            "slowdown": model.slowdown,
            "sold_before": model.sold_before,
            "recovered": model.recovered,
            "improvement": {"nominal": model.improvement, "low": least, "high": most},
            "price_per_performance": model.price_per_performance,
            "cxl_capacity_gib": None if vcpus is None else model.cxl_capacity(vcpus),
            "source": spare_cores.SOURCE,
            "note": spare_cores.PAPER_NOTE,
        }
        write_json(json_file, content)
        click.echo(f"wrote {json_file}", err=True)


@command.command("prices")
@price_options
def prices_command(prices: str | None, settings: tuple[str, ...]) -> None:
    """Show the price book.

    Each entry has an interval, a source and a date. Example: cxlab plan prices
    """
    book = _book(prices, settings)
    names = ", ".join(path.stem for path in shipped_books())
    click.echo(f"price book {book.name} of {book.date}, in {book.currency}; shipped: {names}")
    print_assumptions(Console(), book.assumptions())
