"""The bill of a server against sums done by hand."""

import pytest
from cxlab.plan.quantity import GiB, Years
from cxlab.plan.server import ServerDesign, annuity, bill
from hypothesis import given
from hypothesis import strategies as st

PRICES = {
    "server_price": 1000.0,
    "dram_price": 3.0,
    "cxl_memory_price": 2.0,
    "cxl_controller_price": 50.0,
    "cxl_controller_capacity": 64.0,
    "cxl_board_price": 20.0,
    "cxl_cable_price": 5.0,
    "cxl_switch_price": 100.0,
    "server_power": 300.0,
    "dram_power": 0.5,
    "cxl_memory_power": 0.25,
    "cxl_controller_power": 10.0,
    "cxl_switch_power": 40.0,
    "power_usage_effectiveness": 1.5,
    "power_price": 0.1,
    "lifetime": 2.0,
    "discount_rate": 0.0,
}


def test_a_server_without_cxl_memory_pays_for_none_of_it() -> None:
    got = bill(ServerDesign(GiB(100), GiB(0)), PRICES)
    assert got.capex == pytest.approx(1000 + 3 * 100)
    assert got.power == pytest.approx(300 + 0.5 * 100)


def test_fixed_costs_come_once_a_controller_and_the_switch_once_a_server() -> None:
    got = bill(ServerDesign(GiB(100), GiB(100)), PRICES)  # 100 GiB need two controllers of 64 GiB
    assert got.capex == pytest.approx(1000 + 300 + 200 + 2 * (50 + 20 + 5) + 100)
    assert got.power == pytest.approx(300 + 50 + 25 + 2 * 10 + 40)


def test_energy_is_paid_for_each_hour_of_the_year_with_the_sites_overhead() -> None:
    got = bill(ServerDesign(GiB(100), GiB(0)), PRICES)
    assert got.opex_per_year == pytest.approx(0.350 * 1.5 * 8766 * 0.1)
    assert got.tco == pytest.approx(1300 + 2 * 0.350 * 1.5 * 8766 * 0.1)


@given(st.floats(1e-6, 1), st.integers(1, 30))
def test_annuity_is_the_sum_of_discounted_years(rate: float, years: int) -> None:
    assert annuity(rate, Years(years)) == pytest.approx(sum((1 + rate) ** -y for y in range(1, years + 1)))


def test_without_interest_the_annuity_is_the_years() -> None:
    assert annuity(0, Years(6)) == 6
    assert annuity(1e-12, Years(6)) == pytest.approx(6)


@given(st.sampled_from([k for k in PRICES if k not in ("cxl_controller_capacity", "discount_rate")]))
def test_no_price_makes_a_server_cheaper_by_rising(key: str) -> None:
    design = ServerDesign(GiB(100), GiB(100))
    assert bill(design, {**PRICES, key: 2 * PRICES[key]}).tco > bill(design, PRICES).tco
