"""``cxlab plan spare-cores``: revenue of vCPUs that lack memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from cxlab.cli.output_file import json_option
from cxlab.cli.plan_inputs import capacity
from cxlab.file_format import Format
from cxlab.output import write_json
from cxlab.plan.output import percent
from cxlab.plan.quantity import Dimension, Interval, parse, show
from cxlab.plan.spare_cores import PAPER_NOTE, SOURCE, SpareCores


@dataclass(frozen=True)
class Revenue:
    """Revenue of spare cores: nominal, and the ends of the improvement over the inputs' intervals."""

    nominal: SpareCores
    least: float
    most: float

    @staticmethod
    def of(ratio: Interval, optimal: Interval, discount: Interval, slowdown: Interval) -> Revenue:
        """From intervals."""
        nominal = SpareCores(ratio.nominal, optimal.nominal, discount.nominal, slowdown.nominal)
        # The improvement falls with ratio and discount and rises with optimal: its ends are at these corners.
        least = SpareCores(ratio.high, optimal.low, discount.high, slowdown.high).improvement
        most = SpareCores(ratio.low, optimal.high, discount.low, slowdown.low).improvement
        return Revenue(nominal, least, most)

    def lines(self, vcpus: int | None) -> list[str]:
        """For people: the verdict first."""
        model = self.nominal
        ends = "" if self.least == self.most else f" ({percent(self.least)} .. {percent(self.most)})"
        change = "raises" if model.improvement > 0 else "does not raise"
        said = [
            f"CXL memory for unsold vCPUs {change} revenue: {percent(model.improvement)}{ends}.\n",
            f"vCPUs sold with main memory alone  {percent(model.sold_before)}",
            f"revenue recovered with CXL memory  {percent(model.recovered)} of the revenue of all vCPUs",
            f"improvement in total revenue       {percent(model.improvement)}{ends}",
            f"price per performance on CXL       {model.price_per_performance:.3f} of the full price",
        ]
        if vcpus is not None:
            needed = show(model.cxl_capacity(vcpus), Dimension.CAPACITY)
            said.append(f"CXL memory needed                  {needed} for {vcpus} vCPUs")
        return [*said, *(f"{sentence}." for sentence in (f"Source: {SOURCE}", PAPER_NOTE))]

    def document(self, vcpus: int | None) -> dict[str, object]:
        """For --json."""
        model = self.nominal
        return {
            "ratio_gib": model.ratio,
            "optimal_gib": model.optimal,
            "discount": model.discount,
            "slowdown": model.slowdown,
            "sold_before": model.sold_before,
            "recovered": model.recovered,
            "improvement": {"nominal": model.improvement, "low": self.least, "high": self.most},
            "price_per_performance": model.price_per_performance,
            "cxl_capacity_gib": None if vcpus is None else model.cxl_capacity(vcpus),
            "source": SOURCE,
            "note": PAPER_NOTE,
        }


@click.command("spare-cores")
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
def command(
    ratio: str, optimal: str, discount: str, slowdown: str, vcpus: int | None, json_file: Path | None
) -> None:
    """Work out the revenue of vCPUs that lack main memory.

    The defaults are the example of EuroSys'24, section 4.3.

    Example: cxlab plan spare-cores --vcpus 64
    """
    revenue = Revenue.of(
        capacity("--ratio", ratio),
        capacity("--optimal", optimal),
        parse(discount, Dimension.FRACTION, "--discount"),
        parse(slowdown, Dimension.FRACTION, "--slowdown"),
    )
    click.echo("\n".join(revenue.lines(vcpus)))
    if json_file is not None:
        write_json(json_file, revenue.document(vcpus), Format.PLAN)
        click.echo(f"wrote {json_file}", err=True)
