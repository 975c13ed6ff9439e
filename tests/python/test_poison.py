"""The form of ``--poison``, and what may be poisoned."""

from __future__ import annotations

import pytest
from cxlab.run import machine as description
from cxlab.run.errors import BadRequest
from cxlab.run.options import poison
from cxlab.run.topology import Interleave, Managed, Topology, attach

GIB = 1 << 30
MACHINE, TOPOLOGY = attach(description.load("8468v-asic"), (GIB, GIB), Interleave(), Managed.APPLICATION)


def test_a_line_is_so_far_into_its_node() -> None:
    assert poison.parse("cxl=64M", MACHINE, TOPOLOGY) == poison.Poison("cxl", 0, 64 << 20)
    assert poison.parse("cxl=4224", MACHINE, TOPOLOGY).offset == 4224


@pytest.mark.parametrize(
    ("text", "topology", "wanted"),
    [
        ("cxl", TOPOLOGY, "NODE=OFFSET"),
        ("cxl=2G", TOPOLOGY, "valid: 0 to 1073741823 bytes"),
        ("dram=0", TOPOLOGY, "not on a CXL device"),
        ("cxl=0", Topology(), "--cxl device"),
    ],
)
def test_what_is_no_line_of_a_device_is_refused(text: str, topology: Topology, wanted: str) -> None:
    with pytest.raises(BadRequest, match=wanted):
        poison.parse(text, MACHINE, topology)
