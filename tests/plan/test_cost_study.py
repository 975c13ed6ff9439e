"""The cost study: R_t from prices, and break-even prices that break even."""

from dataclasses import replace

import pytest
from cxlab.error import Code, InputError
from cxlab.plan.abstract_cost_model import C_RANGE, R_C_RANGE, R_D_RANGE, R_T_RANGE
from cxlab.plan.assumption import Assumption, Origin, Provenance
from cxlab.plan.cost_study import CostStudy, PricedServers
from cxlab.plan.prices import book_path, read_price_book
from cxlab.plan.quantity import Dimension, Interval, Range
from hypothesis import given
from hypothesis import strategies as st

BOOK = read_price_book(book_path("2026-01"))
TYPED = Provenance(Origin.TYPED, "test", "now")


def ratio(key: str, value: Interval, valid: Range) -> Assumption:
    return Assumption(key, key, Dimension.RATIO, value, valid, TYPED, key)


def priced(r_d: float = 10, r_c: float = 8, c: float = 2, dram: float = 512) -> CostStudy:
    memory = Assumption(
        "dram", "dram", Dimension.CAPACITY, Interval.exactly(dram), Range(0, low_open=True), TYPED, "dram"
    )
    return CostStudy(
        ratio("r_d", Interval.exactly(r_d), R_D_RANGE),
        ratio("r_c", Interval.exactly(r_c), R_C_RANGE),
        ratio("c", Interval.exactly(c), C_RANGE),
        PricedServers(memory, BOOK),
    )


def test_r_t_is_the_ratio_of_the_bills() -> None:
    study = priced()
    values = study.study().nominal()
    baseline, cxl = study.bills(values)
    assert study.model(values).r_t == pytest.approx(cxl.tco / baseline.tco)
    # 256 GiB of memory, one controller and its board more than the baseline
    assert cxl.capex - baseline.capex == pytest.approx(256 * 7.03 + 300 + 100)


@given(st.floats(2, 50), st.floats(0, 1), st.floats(0.5, 8), st.floats(64, 4096))
def test_the_break_even_price_breaks_even(r_d: float, part: float, c: float, dram: float) -> None:
    study = priced(r_d, min(1 + part * (r_d - 1), r_d), c, dram)
    values = study.study().nominal()
    price = study.break_even_price(values)
    if price is None:
        assert study.study().evaluate({**values, "cxl_memory_price": 0.0}) < 0
    else:
        assert study.study().evaluate({**values, "cxl_memory_price": price}) == pytest.approx(0, abs=1e-9)


@given(st.floats(0, 100), st.floats(0, 100))
def test_dearer_cxl_memory_never_saves_more(one: float, other: float) -> None:
    study = priced().study()
    cheap, dear = sorted((one, other))
    values = study.nominal()
    assert study.evaluate({**values, "cxl_memory_price": dear}) <= study.evaluate(
        {**values, "cxl_memory_price": cheap}
    )


def test_every_number_that_enters_is_an_assumption() -> None:
    study = priced().study()
    assert [a.key for a in study.assumptions][:4] == ["r_d", "r_c", "c", "dram"]
    assert {a.key for a in BOOK.assumptions()} < {a.key for a in study.assumptions}


@pytest.mark.parametrize(
    ("r_d", "r_c"), [(Interval(10, 7, 12), Interval.exactly(8)), (Interval.exactly(10), Interval(8, 6, 11))]
)
def test_intervals_in_which_r_c_passes_r_d_are_refused(r_d: Interval, r_c: Interval) -> None:
    study = priced()
    with pytest.raises(InputError) as caught:
        replace(study, r_d=ratio("r_d", r_d, R_D_RANGE), r_c=ratio("r_c", r_c, R_C_RANGE))
    assert caught.value.code is Code.OUT_OF_RANGE
    assert "R_c" in caught.value.field


def test_a_typed_r_t_needs_no_prices() -> None:
    study = replace(priced(), r_t=ratio("r_t", Interval.exactly(1.1), R_T_RANGE))
    assert [a.key for a in study.assumptions] == ["r_d", "r_c", "c", "r_t"]
    assert study.study().evaluate(study.study().nominal()) == pytest.approx(0.2598, abs=5e-5)
