"""The form of ``--retrain``, and what it may ask for."""

from __future__ import annotations

import pytest
from cxlab.run import machine as description
from cxlab.run.errors import BadRequest
from cxlab.run.options import retraining

MACHINE = description.load("8468v-asic")


def test_a_link_comes_down_at_a_moment() -> None:
    asked = retraining.parse("cxl=x8,16GT/s,2.5ms", MACHINE)
    assert asked.job() == {"node": 1, "at": "2.5 ms", "lanes": "x8", "rate": "16 GT/s"}
    assert retraining.parse("cxl=x1,8 GT/s", MACHINE).at == "0 ns"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cxl", "NODE=WIDTH,RATE"),
        ("cxl=x3,16GT/s", "x1, x2, x4, x8, x16"),
        ("cxl=x4,5GT/s", "8GT/s, 16GT/s, 32GT/s"),
        ("cxl=x4,16GT/s,2h", "ns, us, ms, s"),
        ("dram=x4,16GT/s", "has no CXL link"),
        ("far=x4,16GT/s", "it has: dram, cxl"),
    ],
)
def test_other_forms_are_refused(text: str, wanted: str) -> None:
    with pytest.raises(BadRequest, match=wanted):
        retraining.parse(text, MACHINE)


def test_a_link_does_not_come_up_beyond_what_it_has() -> None:
    with pytest.raises(BadRequest, match="x8 at 32 GT/s"):
        retraining.parse("cxl=x16,32GT/s", description.load("9754-cz120"))
