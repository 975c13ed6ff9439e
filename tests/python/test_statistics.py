"""``--stats``: a line for every statistic, with its place, unit and description."""

from __future__ import annotations

import msgspec
from cxlab.border import Part
from cxlab.cli import statistics


def test_a_line_has_the_place_the_value_the_unit_and_the_description() -> None:
    latency = {
        "count": 2,
        "mean": 130.0,
        "stdev": 0.0,
        "min": 130.0,
        "p50": 130.0,
        "p99": 131.0,
        "max": 131.0,
    }
    entries = [
        {"name": "loads", "unit": "lines", "description": "lines read for loads", "value": 12_345},
        {"name": "load_latency", "unit": "nanoseconds", "description": "load to use", "value": latency},
        {
            "name": "none_yet",
            "unit": "nanoseconds",
            "description": "load to use",
            "value": latency | {"count": 0},
        },
    ]
    channel = {
        "name": "channel0",
        "statistics": [{"name": "busy", "unit": "ratio", "description": "share", "value": 0.25}],
        "parts": [],
    }
    tree = {
        "name": "8468v-asic",
        "statistics": [],
        "parts": [{"name": "dram", "statistics": entries, "parts": [channel]}],
    }
    shown = [line.split(maxsplit=1) for line in statistics.lines(msgspec.convert(tree, type=Part))]
    assert [name for name, _ in shown] == [
        "dram.loads",
        "dram.load_latency",
        "dram.none_yet",
        "dram.channel0.busy",
    ]
    assert shown[0][1].split(maxsplit=2) == ["12,345", "lines", "lines read for loads"]
    assert shown[1][1].startswith("130.0 (p50 130.0, p99 131.0, 2 of them)  nanoseconds")
    assert shown[2][1].startswith("none") and shown[3][1].startswith("0.25  ratio")
