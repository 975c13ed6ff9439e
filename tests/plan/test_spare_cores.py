"""The spare-core revenue against the example of EuroSys'24, section 4.3.2."""

import pytest
from cxlab.error import InputError
from cxlab.plan.spare_cores import PAPER_NOTE, SpareCores
from hypothesis import given
from hypothesis import strategies as st


def test_the_papers_example() -> None:
    example = SpareCores(ratio=3, optimal=4, discount=0.2, slowdown=0.125)
    assert example.sold_before == 0.75
    assert example.recovered / (1 - example.sold_before) == pytest.approx(0.8)  # "80% of the lost revenue"
    assert example.improvement == pytest.approx(20 / 75)
    assert f"{100 * example.improvement:.2f}" == "26.67"  # the paper prints 26.77
    assert example.price_per_performance == pytest.approx(0.8 / 0.875)


def test_the_difference_from_the_paper_is_said() -> None:
    assert all(figure in PAPER_NOTE for figure in ("26.67", "26.77", "27 %"))


def test_cxl_memory_brings_every_vcpu_to_the_optimal_ratio() -> None:
    example = SpareCores(ratio=3, optimal=4, discount=0.2, slowdown=0.125)
    assert 192 * 3 + example.cxl_capacity(192) == 192 * 4


def test_a_server_with_enough_memory_gains_nothing() -> None:
    assert SpareCores(4, 4, 0.2, 0.125).improvement == 0


def test_giving_it_away_gains_nothing() -> None:
    assert SpareCores(3, 4, 1.0, 0.125).improvement == 0


@given(st.floats(0.1, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_discount_never_gains(part: float, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert SpareCores(4 * part, 4, more, 0).improvement <= SpareCores(4 * part, 4, less, 0).improvement


def test_a_customer_who_gets_nothing_is_none() -> None:
    with pytest.raises(InputError, match="0 % <= slowdown < 100 %"):
        SpareCores(3, 4, 0.2, 1.0)


@pytest.mark.parametrize(
    ("ratio", "optimal", "discount", "field"),
    [
        (0, 4, 0.2, "ratio"),
        (-3, 4, 0.2, "ratio"),
        (5, 4, 0.2, "ratio"),
        (3, 0, 0.2, "optimal"),
        (3, 4, 1.2, "discount"),
    ],
)
def test_names_the_field(ratio: float, optimal: float, discount: float, field: str) -> None:
    with pytest.raises(InputError) as caught:
        SpareCores(ratio, optimal, discount, 0.125)
    assert caught.value.field == field
