"""The integer program against the paper's closed form, an enumeration of designs, and its own constraints."""

import math
from itertools import pairwise
from pathlib import Path

import highspy
import pytest
from cxlab.error import Code, InputError
from cxlab.plan.applications import Applications, read_applications
from cxlab.plan.mix import Demand, cheapest, demands, mix_study
from cxlab.plan.pareto import pareto, undominated
from cxlab.plan.prices import book_path, read_price_book
from cxlab.plan.quantity import GiB
from cxlab.plan.server import ServerDesign, bill
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from .conftest import PAPER, THREE, Read

BOOK = read_price_book(book_path("2026-01"))


def test_one_application_gives_the_papers_server_ratio(read: Read) -> None:
    spark = read(PAPER)
    values = mix_study(spark, BOOK).nominal()
    assert cheapest(spark, values, [GiB(0)]).servers == 5000
    assert cheapest(spark, values, [GiB(50)]).servers == math.ceil(5000 * 144 / 214)  # 67.29 %


def fewest_servers(asked: list[Demand], design: ServerDesign, vcpus: float) -> int | None:
    """Fewest servers of one design, as a linear program: its ceiling is the integer optimum."""
    model = highspy.Highs()  # type: ignore[no-untyped-call]
    model.silent()
    n = model.addVariable(lb=0, obj=1.0)
    d = [model.addVariable(lb=0, ub=1) for _ in asked]
    x = [model.addVariable(lb=0, ub=1) for _ in asked]
    s = [
        a.r_d * (di / a.r_d + xi / a.r_c + (1 - di - xi)) for a, di, xi in zip(asked, d, x, strict=True)
    ]  # time over time all in main memory
    for a, di, xi, si in zip(asked, d, x, s, strict=True):
        model.addConstr(di + xi <= 1)
        model.addConstr(si <= a.max_slowdown)
    for a, di, xi in zip(asked, d, x, strict=True):
        model.addConstr(a.instance * di <= design.dram)
        model.addConstr(a.instance * xi <= design.cxl)
    model.addConstr(sum(a.memory * di for a, di in zip(asked, d, strict=True)) <= design.dram * n)
    model.addConstr(sum(a.memory * xi for a, xi in zip(asked, x, strict=True)) <= design.cxl * n)
    model.addConstr(sum(a.vcpus * si for a, si in zip(asked, s, strict=True)) <= vcpus * n)
    model.minimize()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return math.ceil(float(model.val(n)) - 1e-6)


def test_is_as_cheap_as_the_best_of_all_designs_one_by_one(read: Read) -> None:
    three = read(THREE)
    values = mix_study(three, BOOK).nominal()
    costs = []
    for dram in three.dram_choices:
        for cxl in three.cxl_choices:
            design = ServerDesign(dram, cxl)
            servers = fewest_servers(demands(three, values), design, values["server.vcpus"])
            assert servers is not None
            costs.append(servers * bill(design, values).tco)
    assert cheapest(three, values, three.cxl_choices).tco == pytest.approx(min(costs))


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Applications:
    path: Path = tmp_path_factory.mktemp("mix") / "three.toml"
    path.write_text(THREE)
    return read_applications(path)


few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


# CXL memory nearly as fast as main memory: 50 servers miss the cores by less than the solver overlooked.
@few
@example(price=0.0, level=1.0, speed=0.99999)
@example(price=0.0, level=1.0, speed=1 - 1e-8)
@given(price=st.floats(0, 30), level=st.floats(1.0, 3.0), speed=st.floats(0.3, 1.0))
def test_every_fleet_meets_memory_cores_and_service_levels(
    three: Applications, price: float, level: float, speed: float
) -> None:
    values = mix_study(three, BOOK).nominal() | {"cxl_memory_price": price, "analytics.max_slowdown": level}
    values["key-value.r_c"] = max(1.0, 10 * speed)
    plan = cheapest(three, values, three.cxl_choices)
    asked = demands(three, values)
    dram = sum(a.memory * p.dram for a, p in zip(asked, plan.placements, strict=True))
    cxl = sum(a.memory * p.cxl for a, p in zip(asked, plan.placements, strict=True))
    cores = sum(a.vcpus * p.slowdown for a, p in zip(asked, plan.placements, strict=True))
    assert dram <= plan.servers * plan.design.dram * (1 + 1e-6)
    assert cxl <= plan.servers * plan.design.cxl * (1 + 1e-6)
    assert cores <= plan.servers * 192 * (1 + 1e-6)
    for a, p in zip(asked, plan.placements, strict=True):
        time = p.dram / a.r_d + p.cxl / a.r_c + p.slow  # of the Abstract Cost Model, W = 1
        assert p.slowdown == pytest.approx(time * a.r_d, abs=1e-6)
        assert p.slowdown <= a.max_slowdown + 1e-6
        assert p.dram + p.cxl + p.slow == pytest.approx(1, abs=1e-6)


@few
@given(st.floats(0, 30), st.floats(0, 30))
def test_cheaper_cxl_memory_never_makes_the_fleet_dearer(
    three: Applications, one: float, other: float
) -> None:
    study = mix_study(three, BOOK)
    cheap, dear = sorted((one, other))
    low = study.evaluate({**study.nominal(), "cxl_memory_price": cheap})
    high = study.evaluate({**study.nominal(), "cxl_memory_price": dear})
    assert low >= high - 1e-9
    assert high >= -1e-9  # a fleet without CXL memory is always among the choices


def test_cxl_memory_that_costs_too_much_is_not_bought(three: Applications) -> None:
    values = mix_study(three, BOOK).nominal() | {"cxl_memory_price": 1000.0}
    assert cheapest(three, values, three.cxl_choices).design.cxl == GiB(0)


def test_a_strict_service_level_puts_all_in_main_memory(three: Applications) -> None:
    values = mix_study(three, BOOK).nominal()
    strict = values | {f"{name}.max_slowdown": 1.0 for name in three.names}
    plan = cheapest(three, strict, three.cxl_choices)
    assert all(p.dram == pytest.approx(1) for p in plan.placements)
    # 500 x 64 + 300 x 128 + 200 x 8 = 72,000 GiB of main memory, 71 servers of 1024 GiB
    assert plan.servers * plan.design.dram >= 72_000


def test_an_instance_has_no_more_memory_than_its_server(read: Read) -> None:
    """2 TiB on servers of 1 TiB: half of it in main memory, a quarter in CXL memory, the rest on the SSD."""
    large = THREE.replace('footprint = "64 GiB"', 'footprint = "2 TiB"')
    # S = 10 - 9 / 2 - 10 (1 - 1 / 8) / 4 = 3.3125
    applications = read(large.replace("max_slowdown = 1.2", "max_slowdown = 3.3126"))
    plan = cheapest(applications, mix_study(applications, BOOK).nominal(), applications.cxl_choices)
    assert plan.design == ServerDesign(GiB(1024), GiB(512))
    first = plan.placements[0]
    assert (first.dram, first.cxl, first.slowdown) == pytest.approx((0.5, 0.25, 3.3125), rel=1e-4)
    applications = read(large.replace("max_slowdown = 1.2", "max_slowdown = 3.3124"))
    with pytest.raises(InputError) as caught:
        cheapest(applications, mix_study(applications, BOOK).nominal(), applications.cxl_choices)
    assert caught.value.code is Code.INFEASIBLE


def test_shares_are_scaled_to_one(three: Applications) -> None:
    values = mix_study(three, BOOK).nominal()
    doubled = values | {f"{name}.share": 2 * values[f"{name}.share"] for name in three.names}
    assert [d.weight for d in demands(three, doubled)] == pytest.approx([0.5, 0.3, 0.2])


def test_a_bound_that_no_fleet_meets_is_said(three: Applications) -> None:
    with pytest.raises(InputError) as caught:
        cheapest(three, mix_study(three, BOOK).nominal(), three.cxl_choices, mean_limit=0.9)
    assert caught.value.code is Code.INFEASIBLE


def test_on_the_frontier_slower_is_cheaper_and_cxl_never_dearer(three: Applications) -> None:
    calls: list[None] = []
    points = pareto(three, mix_study(three, BOOK).nominal(), 4, lambda: calls.append(None))
    assert len(calls) == 8
    without = [p.plan for p in points if not p.with_cxl]
    allowed = [p.plan for p in points if p.with_cxl]
    for plans in (without, allowed):
        assert all(a.mean_slowdown < b.mean_slowdown and a.tco > b.tco for a, b in pairwise(plans))
        assert undominated(plans) == plans
    assert allowed[0].mean_slowdown == pytest.approx(1)
    assert allowed[-1].tco <= without[-1].tco
