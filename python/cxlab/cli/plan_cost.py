"""``cxlab plan cost``: one application, the Abstract Cost Model with prices and uncertainty."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from cxlab.cli.plan_inputs import QUANTITY, capacity, ratio, tco, throughput
from cxlab.cli.plan_prices import price_options
from cxlab.cli.plan_results import leave, result_options
from cxlab.error import Code, InputError
from cxlab.output import write_text
from cxlab.plan import abstract_cost_model
from cxlab.plan.cost_study import CostStudy
from cxlab.plan.quantity import GiB

if TYPE_CHECKING:
    from cxlab.plan.cost_report import CostReport


@click.command("cost")
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
def command(
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
    # Here, so that `cxlab --help` waits for no plotting library.
    from cxlab.plan.cost_report import CostReport

    relative = throughput(r_d, r_c, from_runs, throughputs)
    study = CostStudy(*relative, ratio("c", c, abstract_cost_model.C_RANGE), tco(r_t, dram, prices, settings))
    report = CostReport(study, draws, seed)
    _fleet(report, servers, dram, working_set)
    leave(report.write_plots, report.as_json, plot_folder, json_file)
    if html_file is not None:
        from cxlab.report import of_cost, page

        write_text(html_file, page.html(of_cost.report(report)))
        click.echo(f"wrote {html_file}", err=True)
    report.print(Console())


def _fleet(report: CostReport, servers: int | None, dram: str | None, working_set: str | None) -> None:
    """Take the size of the baseline cluster, and check that the model holds for the working set."""
    if servers is not None:
        report.count_servers(servers)
    if working_set is None:
        return
    if servers is None or dram is None:
        missing = "--servers" if servers is None else "--dram"
        raise InputError(Code.MISSING, missing, "is not there", f"{missing}, which --working-set needs")
    size, memory = capacity("--working-set", working_set).low, capacity("--dram", dram).nominal
    report.model.holds_for(GiB(size), GiB(memory), servers)
