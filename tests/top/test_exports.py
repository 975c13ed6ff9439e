"""Exports of ``cxlab top``, against what the programs that read them say of their formats.

``speedscope-1.25.0.schema.json`` is dist/release/file-format-schema.json of speedscope 1.25.0 on npm. Its
licence, MIT, is beside it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from cxlab.top import export
from cxlab.top.ranking import Waits

SCHEMA = Path(__file__).with_name("speedscope-1.25.0.schema.json")
#: A line, as Firefox Profiler's src/profile-logic/import/flame-graph.js reads it: stack and count.
FIREFOX = re.compile(r"([^;]*(?:;[^;]*)*) ([0-9]+)")
STACKS: export.Stacks = [
    (
        ("_start", "main", "operator[] (a;b)", "data: table"),
        Waits(lines=3, latency_ps=900_000, stall_ps=800_000),
    ),
    (("_start", "main", "data: list"), Waits(lines=1, latency_ps=300_000, stall_ps=200_000)),
]


def test_speedscope_s_schema_accepts_the_export() -> None:
    document = json.loads(json.dumps(export.speedscope(STACKS, "a run, cxl")))
    schema = json.loads(SCHEMA.read_text())
    jsonschema.validate(document, schema)
    # The schema refuses what is no profile: it is not an empty one.
    document["profiles"][0]["unit"] = "fortnights"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_firefox_profiler_s_expression_reads_each_line() -> None:
    made = export.collapsed(STACKS)
    read = [match.groups() for line in made.text.splitlines() if (match := FIREFOX.fullmatch(line))]
    assert made.count_ns == 1
    # 800 and 200 ns; a semicolon ends a frame, so no name has one.
    assert read == [("_start;main;operator[] (a:b);data: table", "800"), ("_start;main;data: list", "200")]


def test_a_long_run_has_no_more_counts_than_a_browser_takes() -> None:
    """Firefox Profiler makes a sample of each count. Three hours of stalls would be 1.08e13 of them."""
    hours = [
        (("main", f"data: {hour}"), Waits(lines=1, latency_ps=0, stall_ps=hour * 3600 * 10**12))
        for hour in (1, 2)
    ]
    made = export.collapsed(hours)
    counts = [int(line.rpartition(" ")[2]) for line in made.text.splitlines()]
    # 10,800 s at most a million counts: 1.08e6 of 10 ms are too many, so 100 ms.
    assert made.count_ns == 10**8
    assert counts == [36_000, 72_000]
