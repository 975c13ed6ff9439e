"""Cost of a server over its life: capital and energy, for a given amount of main memory and CXL memory.

    capex = server + dram D + cxl_memory X + controllers (controller + board + cable) + switch share
    opex  = (server W + dram W/GiB D + cxl W/GiB X + controllers W + switch W) PUE 8766 h/year price
    TCO   = capex + opex (1 - (1 + r)^-Y) / r

with D main memory, X CXL memory and ceil(X / capacity of a controller) controllers. Opex is paid at the end
of each of the Y years and discounted at r (at r = 0 the factor is Y). The controller, board, cable and
switch are the fixed constants that EuroSys'24 (section 6, "Extending Cost Model") asks for.

Not modelled: staff, building, network, failures, resale, taxes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cxlab.plan.assumption import Values
from cxlab.plan.quantity import HOURS_PER_YEAR, GiB, Money, Watts, Years


@dataclass(frozen=True)
class ServerDesign:
    """The memory of one server."""

    dram: GiB
    cxl: GiB


@dataclass(frozen=True)
class Bill:
    """Costs of one server."""

    capex: Money
    power: Watts  # mean draw of the server itself, without the site's overhead
    opex_per_year: Money
    tco: Money  # present value over the lifetime


def annuity(rate: float, lifetime: Years) -> float:
    """Return the present value of 1 paid at the end of each year [years]."""
    if rate == 0:
        return float(lifetime)
    return float(-math.expm1(-lifetime * math.log1p(rate)) / rate)


def controllers(design: ServerDesign, values: Values) -> int:
    """Count the CXL controllers that a server needs."""
    return math.ceil(design.cxl / values["cxl_controller_capacity"])


def bill(design: ServerDesign, values: Values) -> Bill:
    """Add up what a server costs at the prices in `values` (keys of `Price`, canonical units)."""
    count = controllers(design, values)
    has_cxl = 1 if count else 0
    capex = (
        values["server_price"]
        + values["dram_price"] * design.dram
        + values["cxl_memory_price"] * design.cxl
        + count * (values["cxl_controller_price"] + values["cxl_board_price"] + values["cxl_cable_price"])
        + has_cxl * values["cxl_switch_price"]
    )
    power = (
        values["server_power"]
        + values["dram_power"] * design.dram
        + values["cxl_memory_power"] * design.cxl
        + count * values["cxl_controller_power"]
        + has_cxl * values["cxl_switch_power"]
    )
    energy = power / 1000 * values["power_usage_effectiveness"] * HOURS_PER_YEAR  # kWh a year
    opex = energy * values["power_price"]
    factor = annuity(values["discount_rate"], Years(values["lifetime"]))
    return Bill(Money(capex), Watts(power), Money(opex), Money(capex + opex * factor))
