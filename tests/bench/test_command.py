"""The command line: MLC's columns, JSON, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from cxlab.cli.bench import command


def test_a_point_as_mlc_prints_it_and_as_json(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    arguments = "loaded-latency --machine spr-a1000 --node cxl --threads 8 --mix 2:1 --delay 500 --json"
    done = CliRunner().invoke(command, [*arguments.split(), str(file)])
    assert done.exit_code == 0, done.output
    document = json.loads(file.read_text())
    assert (document["machine"], document["node"], document["mix"]) == ("spr-a1000", "cxl", "2:1")
    [point] = document["points"]
    line = f" 00500\t{point['latency_ns']:7.2f}\t{point['bandwidth_mb_s']:10.1f}"
    assert line in done.output.splitlines()
    assert {"utilisation", "retries"} <= point["nodes"]["cxl"]["ports"][0]["cxl"]["s2m"].keys()


def test_weighted_pages_go_where_they_should(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    arguments = "bandwidth --machine spr-a1000 --weighted-interleave dram=3,cxl=1 --threads 8 --json"
    assert CliRunner().invoke(command, [*arguments.split(), str(file)]).exit_code == 0
    nodes = json.loads(file.read_text())["points"][0]["nodes"]
    assert nodes["dram"]["read_mb_s"] / nodes["cxl"]["read_mb_s"] == pytest.approx(3, rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            "bandwidth --machine spr-a1000 --node cxl9",
            ["no node `cxl9`", "dram, cxl, cxl2, remote, cxl-remote"],
        ),
        ("bandwidth --machine spr --node cxl", ["no machine `spr`", "spr-a1000"]),
        ("bandwidth --machine spr-a1000 --node cxl --mix 2:0:1", ["`2:0:1` is not R:W"]),
        ("bandwidth --machine spr-a1000 --node cxl --mix 1:2", ["at most half", "non-temporal"]),
        ("bandwidth --machine spr-a1000 --node cxl --mix 0:0", ["0:0 moves no line"]),
        ("bandwidth --machine spr-a1000 --interleave dram,dram", ["stands twice"]),
        ("bandwidth --machine spr-a1000 --weighted-interleave dram=0", ["1 to 255"]),
        ("bandwidth --machine spr-a1000 --node cxl --threads 60", ["valid: 1 to 48 threads"]),
        (
            "bandwidth --machine spr-a1000",
            ["--node, --interleave, --weighted-interleave", "exactly one of them"],
        ),
        ("loaded-latency --machine spr-a1000 --node cxl", ["--delay, --sweep", "exactly one of them"]),
        ("latency --machine spr-a1000 --node cxl --json /none/x.json", ["no folder /none"]),
        ("mess --machine spr-a1000 --node cxl --plot x.xyz", ["`.xyz`", ".png, .svg, .pdf"]),
    ],
)
def test_bad_input_is_refused_with_what_is_valid(arguments: str, says: list[str]) -> None:
    done = CliRunner().invoke(command, arguments.split())
    assert done.exit_code == 2
    for part in says:
        assert part in done.output
