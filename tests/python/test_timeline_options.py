"""``--timeline FILE --window FROM:UNTIL``: what is accepted, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from cxlab.run.errors import BadRequest
from cxlab.run.options import timeline


def test_a_window_is_two_times_with_units(tmp_path: Path) -> None:
    shown = timeline.parse(tmp_path / "t.json", "1.5us:2ms")
    assert shown == timeline.Timeline(tmp_path / "t.json", 1_500_000, 2_000_000_000)


@pytest.mark.parametrize("window", ["", "1us", "2us:1us", "1us:1us", "1:2", "1..5us:2us", "-1us:1us"])
def test_what_is_no_window_is_refused_with_an_example(tmp_path: Path, window: str) -> None:
    with pytest.raises(BadRequest, match="as in 100us:250us"):
        timeline.parse(tmp_path / "t.json", window)


def test_a_window_without_a_timeline_is_refused() -> None:
    assert timeline.parse(None, timeline.DEFAULT_WINDOW) is None
    with pytest.raises(BadRequest, match="Add --timeline"):
        timeline.parse(None, "0us:1us")
