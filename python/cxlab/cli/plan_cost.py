"""``cxlab plan cost``: one application, the Abstract Cost Model with prices and uncertainty."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from cxlab.cli.plan_inputs import QUANTITY, Cluster, Relative, capacity, cluster, ratio, relative, tco
from cxlab.cli.plan_prices import Prices, prices
from cxlab.cli.plan_results import Drawn, Results, drawn, results
from cxlab.error import Code, InputError
from cxlab.output import write_text
from cxlab.plan import abstract_cost_model
from cxlab.plan.cost_study import CostStudy
from cxlab.plan.quantity import GiB

if TYPE_CHECKING:
    from cxlab.plan.cost_report import CostReport


@click.command("cost")
@relative
@click.option(
    "--c",
    "c",
    required=True,
    metavar=QUANTITY,
    help="C: main memory of a CXL server, divided by its CXL memory. No default.  Example: 2",
)
@click.option(
    "--r-t",
    metavar=QUANTITY,
    help="R_t: total cost of ownership (TCO) of a server with CXL memory, divided by that of one without.  "
    "[default: from prices]  Example: 1.1",
)
@cluster
@click.option(
    "--html",
    "html_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write one HTML file with a slider for each input; it needs no network.  Example: cost.html",
)
@prices
@results
@drawn(draws=5000)
def command(
    relative: Relative,
    c: str,
    r_t: str | None,
    cluster: Cluster,
    html_file: Path | None,
    prices: Prices,
    results: Results,
    drawn: Drawn,
) -> None:
    """Compare servers with CXL memory to servers without.

    One application runs on all of them. The model is the Abstract Cost Model of EuroSys'24, section 6.

    Example: cxlab plan cost --r-d 10 --r-c 8 --c 2 --r-t 1.1
    """
    # Here, so that `cxlab --help` waits for no plotting library.
    from cxlab.plan.cost_report import CostReport

    capacities = ratio("c", c, abstract_cost_model.C_RANGE)
    study = CostStudy(*relative.throughput(), capacities, tco(r_t, cluster.dram, prices))
    report = CostReport(study, drawn.draws, drawn.seed)
    _fleet(report, cluster)
    results.leave(report.write_plots, report.as_json)
    if html_file is not None:
        from cxlab.report import of_cost, page

        write_text(html_file, page.html(of_cost.report(report)))
        click.echo(f"wrote {html_file}", err=True)
    report.print(Console())


def _fleet(report: CostReport, cluster: Cluster) -> None:
    """Take the size of the baseline cluster, and check that the model holds for the working set."""
    servers, dram, working_set = cluster.servers, cluster.dram, cluster.working_set
    if servers is not None:
        report.count_servers(servers)
    if working_set is None:
        return
    if servers is None or dram is None:
        missing = "--servers" if servers is None else "--dram"
        raise InputError(Code.MISSING, missing, "is not there", f"{missing}, which --working-set needs")
    size, memory = capacity("--working-set", working_set).low, capacity("--dram", dram).nominal
    report.model.holds_for(GiB(size), GiB(memory), servers)
