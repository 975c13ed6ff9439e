"""`cxlab plan`: what CXL memory does to a bill.

    cxlab plan cost         one application: the Abstract Cost Model, with prices and uncertainty
    cxlab plan mix          several applications, one server design for all
    cxlab plan spare-cores  revenue of vCPUs that lack memory
    cxlab plan prices       the price book, each entry with its source and date

Wrong input ends with exit status 2 and a message that names the field and its valid range.
"""

from __future__ import annotations

import click

from cxlab.cli import plan_cost, plan_mix, plan_prices, plan_spare_cores


@click.group()
def command() -> None:
    """Work out what CXL memory does to a bill.

    Example: cxlab plan cost --r-d 10 --r-c 8 --c 2 --r-t 1.1
    """


for part in (plan_cost, plan_mix, plan_spare_cores, plan_prices):
    command.add_command(part.command)
