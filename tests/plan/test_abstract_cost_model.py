"""The Abstract Cost Model against the paper's example, its equation and its limits (EuroSys'24, 6)."""

import pytest
from cxlab.error import Code, InputError
from cxlab.plan.abstract_cost_model import AbstractCost
from cxlab.plan.quantity import GiB
from hypothesis import given
from hypothesis import strategies as st

PAPER = AbstractCost(r_d=10, r_c=8, c=2, r_t=1.1)

r_ds = st.floats(1.01, 1000)
cs = st.floats(0.01, 100)
r_ts = st.floats(0.5, 5)
parts = st.floats(0, 1)


def model(r_d: float, part: float, c: float, r_t: float = 1.0) -> AbstractCost:
    """R_c lies `part` of the way from 1 to R_d."""
    return AbstractCost(r_d, min(1 + part * (r_d - 1), r_d), c, r_t)


def test_the_papers_example() -> None:
    assert round(100 * PAPER.server_ratio, 2) == 67.29
    assert round(100 * (1 - PAPER.server_ratio), 2) == 32.71
    assert round(100 * PAPER.tco_saving, 2) == 25.98


@given(r_ds, parts, cs)
def test_is_the_closed_form_that_the_paper_prints(r_d: float, part: float, c: float) -> None:
    m = model(r_d, part, c)
    printed = c * m.r_c * (r_d - 1) / (m.r_c * r_d * (c + 1) - c * m.r_c - r_d)
    assert m.server_ratio == pytest.approx(printed, rel=1e-6)


@given(r_ds, parts, cs)
def test_both_clusters_take_the_same_time(r_d: float, part: float, c: float) -> None:
    m = model(r_d, part, c)
    n_baseline, d, w = 1.0, 1.0, 1e3
    n_cxl = m.server_ratio * n_baseline
    t_baseline = n_baseline * d / r_d + (w - n_baseline * d)
    t_cxl = n_cxl * d / r_d + n_cxl * d / (c * m.r_c) + (w - n_cxl * d - n_cxl * d / c)
    assert t_cxl == pytest.approx(t_baseline, rel=1e-9)


@given(r_ds, cs)
def test_cxl_memory_as_slow_as_the_ssd_replaces_no_server(r_d: float, c: float) -> None:
    assert AbstractCost(r_d, 1.0, c, 1.0).server_ratio == pytest.approx(1.0)


@given(r_ds, cs)
def test_cxl_memory_as_fast_as_main_memory_counts_as_memory(r_d: float, c: float) -> None:
    assert AbstractCost(r_d, r_d, c, 1.0).server_ratio == pytest.approx(c / (c + 1))


@given(r_ds, parts)
def test_no_cxl_memory_replaces_no_server(r_d: float, part: float) -> None:
    assert model(r_d, part, 1e12).server_ratio == pytest.approx(1.0)


@given(r_ds, parts, cs, st.floats(1.01, 3))
def test_more_cxl_memory_needs_fewer_servers(r_d: float, part: float, c: float, more: float) -> None:
    assert model(r_d, part, c / more).server_ratio <= model(r_d, part, c).server_ratio + 1e-12


@given(r_ds, parts, parts, cs)
def test_faster_cxl_memory_needs_fewer_servers(r_d: float, one: float, other: float, c: float) -> None:
    slower, faster = sorted((one, other))
    assert model(r_d, faster, c).server_ratio <= model(r_d, slower, c).server_ratio + 1e-12


@given(r_ds, parts, cs, r_ts)
def test_break_even_r_t_breaks_even(r_d: float, part: float, c: float, r_t: float) -> None:
    even = model(r_d, part, c, r_t).break_even_r_t
    assert model(r_d, part, c, even).tco_saving == pytest.approx(0, abs=1e-9)


@given(r_ds, st.floats(0.001, 0.999), cs)
def test_break_even_r_c_breaks_even(r_d: float, part: float, c: float) -> None:
    at_even = model(r_d, part, c)
    m = AbstractCost(r_d, r_d, c, 1 / at_even.server_ratio)  # nil exactly at the R_c of at_even
    assert m.break_even_r_c is not None
    assert AbstractCost(r_d, m.break_even_r_c, c, m.r_t).tco_saving == pytest.approx(0, abs=1e-9)


@given(r_ds, cs, r_ts)
def test_no_break_even_r_c_means_that_the_sign_never_changes(r_d: float, c: float, r_t: float) -> None:
    worst, best = AbstractCost(r_d, 1, c, r_t), AbstractCost(r_d, r_d, c, r_t)
    if worst.break_even_r_c is None:
        # If the break-even is R_d itself, rounding decides on which side of it the best case is.
        assert worst.tco_saving * best.tco_saving > 0 or abs(best.tco_saving) < 1e-12
    else:
        assert worst.tco_saving <= 1e-9
        assert best.tco_saving >= -1e-9


def test_break_even_r_c_of_the_papers_example() -> None:
    # g_c = C g_d (R_t - 1) = 2 * 0.9 * 0.1 = 0.18, so R_c = 1 / 0.82
    assert PAPER.break_even_r_c == pytest.approx(1 / 0.82)


def test_whole_servers_round_up_but_an_exact_ratio_does_not() -> None:
    assert PAPER.servers(100) == 68  # 67.29
    assert AbstractCost(10, 10, 2, 1).servers(3) == 2  # C / (C + 1) = 2/3, exactly two


def test_the_model_holds_only_while_the_working_set_spills() -> None:
    # N_cxl D (1 + 1/C) = 67.29 * 512 * 1.5 = 51,679 GiB
    PAPER.holds_for(GiB(51_700), GiB(512), 100)
    with pytest.raises(InputError, match="51,679 GiB <= working set"):
        PAPER.holds_for(GiB(51_600), GiB(512), 100)


@pytest.mark.parametrize(
    ("r_d", "r_c", "c", "r_t", "field", "valid"),
    [
        (1, 1, 2, 1, "R_d", "1 < R_d"),
        (float("nan"), 1, 2, 1, "R_d", "1 < R_d"),
        (float("inf"), 1, 2, 1, "R_d", "1 < R_d"),
        (10, 0.9, 2, 1, "R_c", "1 <= R_c"),
        (10, 11, 2, 1, "R_c", "1 <= R_c <= R_d = 10"),
        (10, 8, 0, 1, "C", "1e-06 <= C"),
        (10, 8, -1, 1, "C", "1e-06 <= C"),
        (2, 2, 2.225e-309, 1, "C", "1e-06 <= C"),
        (10, 8, 2, 0, "R_t", "0 < R_t"),
    ],
)
def test_names_the_field_and_its_range(
    r_d: float, r_c: float, c: float, r_t: float, field: str, valid: str
) -> None:
    with pytest.raises(InputError) as caught:
        AbstractCost(r_d, r_c, c, r_t)
    assert caught.value.code is Code.OUT_OF_RANGE
    assert caught.value.field == field
    assert valid in caught.value.valid
