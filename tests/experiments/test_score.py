"""Errors and ranks, against values worked out by hand."""

from __future__ import annotations

import pytest

from experiments import score
from experiments.report import PAGES, RATIO, Row


def test_a_change_is_the_ratio_that_it_makes() -> None:
    # 0.70 of the baseline simulated as 0.77 is 10 % off, and 2.0 simulated as 1.5 is 25 % off.
    rows = [Row("less", -30.0, -23.0), Row("more", 2.0, 1.5, RATIO)]
    assert score.of_tables([rows]).document()["mean_error_of_ratios"] == pytest.approx((0.10 + 0.25) / 2)


def test_inside_the_papers_range_there_is_no_error() -> None:
    inside, below = (Row("x", 0.45, value, RATIO, paper_to=0.69) for value in (0.5, 0.36))
    # 0.36 is a fifth below 0.45.
    assert score.of_tables([[inside, below]]).ratios == pytest.approx([0.0, 0.2])


def test_what_the_machine_was_tuned_on_proves_nothing() -> None:
    found = score.of_tables([[Row("tuned", 2.0, 1.0, RATIO, calibrated=True), Row("no figure", None, 1.0)]])
    assert (found.ratios, found.ranks, found.calibrated) == ([], [], 1)
    assert found.text() == "no figure of the paper is predicted, no ranks; 1 calibrated rows are left out"


def test_a_rank_is_the_order_of_two_of_a_group_or_of_one_and_its_baseline() -> None:
    rows = [
        Row("a", -10.0, -5.0, rank="g"),  # below the baseline in both: right
        Row("b", -20.0, +1.0, rank="g"),  # above the baseline, and above a: two wrong
        Row("c", -90.0, -90.0),  # of no group: its baseline alone, right
        Row("d", 0.0, 3.0),  # the paper has a tie: no rank
    ]
    assert sorted(score.of_tables([rows]).ranks) == [False, False, True, True]


def test_shares_of_pages_are_told_in_points() -> None:
    found = score.of_tables([[Row("best share", 63.0, 25.0, PAGES)]])
    assert list(found.points) == [38.0] and not found.ratios


def test_ranges_that_overlap_have_no_order() -> None:
    rows = [Row("a", 0.45, 0.9, "ns", 0.69, rank="g"), Row("b", 0.68, 0.5, "ns", 0.74, rank="g")]
    assert not score.of_tables([rows]).ranks


def test_an_order_in_words_is_ranks_without_errors() -> None:
    rows = [
        Row("first", None, 0.0, rank="g", place=1),
        Row("second", None, -20.0, rank="g", place=2),
        Row("also second", None, -5.0, rank="g", place=2),  # a tie has no rank
        Row("third", None, -10.0, rank="g", place=3),  # above one that the paper has above it
    ]
    found = score.of_tables([rows])
    assert sorted(found.ranks) == [False, True, True, True, True] and not found.ratios
    assert rows[3].paper_text == "rank 3"


def test_scores_of_several_figures_weigh_each_row_once() -> None:
    one = score.of_tables([[Row("a", 2.0, 2.2, RATIO)]])
    two = score.of_tables([[Row("a", 2.0, 2.0, RATIO), Row("b", 2.0, 2.0, RATIO)]])
    assert score.together([one, two]).document()["mean_error_of_ratios"] == pytest.approx(0.1 / 3)
