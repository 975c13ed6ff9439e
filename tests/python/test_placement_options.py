"""The options that say how large nodes are and where pages go."""

from __future__ import annotations

import pytest
from cxlab.run import machine as description
from cxlab.run.errors import BadRequest
from cxlab.run.machine import Machine, load
from cxlab.run.options import placement
from cxlab.run.size import parse_bytes

GIB = 1 << 30
MACHINE = Machine(
    "m",
    "m",
    (description.Node("dram", 0, 0, 130.0, 38.4), description.Node("cxl", 1, 1, 284.0, 25.6)),
    2_400_000_000,
    3.8,
    48,
    load("8468v-asic").processor,
    None,
    {},
)


@pytest.mark.parametrize(
    ("text", "size"), [("2G", 2 << 30), ("512M", 512 << 20), ("1T", 1 << 40), ("4GiB", 4 << 30)]
)
def test_sizes_are_binary_multiples(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "2", "2X", "G", "-1G", "0G", "1.5G", "2g", "2G2", "٢G"])
def test_what_is_no_size_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadRequest, match="is not a size"):
        parse_bytes(text)


def test_a_node_that_is_not_named_has_its_default() -> None:
    assert placement.parse_memory(None, MACHINE) == (2 * GIB, 2 * GIB)
    assert placement.parse_memory("cxl=4G", MACHINE) == (2 * GIB, 4 * GIB)
    assert placement.parse_memory("cxl=1G,dram=3G", MACHINE) == (3 * GIB, GIB)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dram=2X", "'2X' is not a size"),
        ("hbm=2G", "the machine m has no node 'hbm'; it has: dram, cxl"),
        ("dram", "'dram' is not NODE=VALUE"),
        ("dram=2G,dram=3G", "'dram' is named twice"),
        ("dram=2G,", "'' is not NODE=VALUE"),
        ("dram=64M", "dram=64M is too small: at least 256M, Linux needs it to boot"),
        ("cxl=1025K", "too small"),
        ("cxl=65M", "not a multiple of 2M"),
    ],
)
def test_a_bad_memory_option_says_what_is_bad(text: str, message: str) -> None:
    with pytest.raises(BadRequest) as error:
        placement.parse_memory(text, MACHINE)
    assert message in str(error.value)


def test_policies_are_what_the_guests_init_reads() -> None:
    assert placement.parse(MACHINE).policy == "default"
    assert placement.parse(MACHINE, membind="cxl").policy == {"bind": [1]}
    assert placement.parse(MACHINE, preferred="cxl").policy == {"preferred": 1}
    assert placement.parse(MACHINE, interleave="dram,cxl").policy == {"interleave": [0, 1]}
    weighted = placement.parse(MACHINE, weighted_interleave="dram=3,cxl=1")
    assert weighted.policy == {"weighted_interleave": [(0, 3), (1, 1)]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"membind": "cxl", "interleave": "dram,cxl"}, "--membind and --interleave exclude each other"),
        ({"membind": "hbm"}, "no node 'hbm'; it has: dram, cxl"),
        ({"preferred": "dram,cxl"}, "no node 'dram,cxl'"),
        ({"weighted_interleave": "dram=0,cxl=1"}, "'0' is no weight"),
        ({"weighted_interleave": "dram=256,cxl=1"}, "'256' is no weight"),
        ({"weighted_interleave": "dram,cxl"}, "'dram' is not NODE=VALUE"),
    ],
)
def test_a_bad_placement_says_what_is_bad(options: dict[str, str], message: str) -> None:
    with pytest.raises(BadRequest) as error:
        placement.parse(MACHINE, **options)
    assert message in str(error.value)
