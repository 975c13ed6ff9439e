"""This host in the simulated bench's shape, and both in one plot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cxlab.bench import plot
from cxlab.cli.bench import command


def bench(arguments: str, out: Path) -> dict[str, Any]:
    done = CliRunner().invoke(command, [*arguments.split(), "--json", str(out)])
    assert done.exit_code == 0, done.output
    return dict(json.loads(out.read_text()))


def test_a_host_s_result_has_the_simulated_one_s_shape(tmp_path: Path) -> None:
    real = bench("bandwidth --host --threads 1", tmp_path / "host.json")
    simulated = bench("bandwidth --machine 8468v-asic --node dram --threads 1", tmp_path / "simulated.json")
    assert simulated.keys() == real.keys() - {"complete", "provenance"}
    assert real["complete"] is True
    for key in ("bench", "threads", "mix", "store", "pattern"):
        assert real[key] == simulated[key], key
    # A core reads more than 1 GB/s from any memory that this runs on, and less than a terabyte a second.
    assert 1e3 < real["points"][0]["bandwidth_mb_s"] < 1e6
    assert real["provenance"]["tool"] == "cxlab-memo"


def test_a_host_s_chase_covers_the_size_that_was_asked_for(tmp_path: Path) -> None:
    document = bench("latency --host --size 256KiB", tmp_path / "host.json")
    assert [point["size_bytes"] for point in document["points"]] == [256 << 10]


def test_one_plot_holds_silicon_and_simulation(tmp_path: Path) -> None:
    point = {"delay": 0, "latency_ns": 300.0, "bandwidth_mb_s": 9000.0, "mix": "1:0"}
    silicon = {
        "bench": "loaded-latency",
        "machine": "a host",
        "node": "0",
        "points": [point],
        "provenance": {},
    }
    file = tmp_path / "host.json"
    file.write_text(json.dumps(silicon))
    [curve] = plot.read(file)
    assert (curve.silicon, curve.label, list(curve.points)) == (True, "a host, 0, 1:0", [(9000.0, 300.0)])
    drawn = tmp_path / "both.png"
    arguments = "loaded-latency --machine 8468v-asic --node dram --threads 1 --delay 4000"
    done = CliRunner().invoke(command, [*arguments.split(), "--plot", str(drawn), "--beside", str(file)])
    assert done.exit_code == 0, done.output
    assert drawn.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("latency", "--machine: is not given; valid: --machine NAME, or --host"),
        ("latency --host --machine 8468v-asic", "--machine: chooses memory of a simulated machine"),
        ("bandwidth --host --interleave dram,cxl", "--interleave: chooses memory of a simulated machine"),
        ("latency --host --node cxl", "`cxl` is no node of this host; valid: its number"),
        (
            "bandwidth --host --isa avx2",
            "--isa: is of the simulated bench alone; valid: with --host: no --isa",
        ),
        ("latency --host --of-cache 0.5", "--of-cache: is of the simulated bench alone"),
        ("latency --host --no-prefetch", "--prefetch: is of the simulated bench alone"),
        ("latency --host --set core.window=8", "--set: is of the simulated bench alone"),
        ("latency --host --size 1MiB --size 2MiB", "--size, --sweep: are given more than once"),
        ("latency --host --size 1MiB --sweep", "--size, --sweep: are given more than once"),
        ("embedding --host", "bench embedding --host: cxlab-memo has no such bench"),
        ("loaded-latency --host", "--delay, --sweep: none or both are given; valid: exactly one of them"),
    ],
)
def test_what_only_a_simulated_machine_has_is_refused(arguments: str, says: str) -> None:
    done = CliRunner().invoke(command, arguments.split())
    assert done.exit_code == 2
    assert says in done.output
