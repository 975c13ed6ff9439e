"""A machine is found again from its own noisy curves; what they do not tell is said, not guessed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cxlab.bench import sweep
from cxlab.bench.request import Placement, Workload
from cxlab.calibrate.machine_files import MachineFiles
from cxlab.cli.calibrate import command

from .conftest import LEAVES, MACHINE, TRUTH


def calibrate(out: Path, start: str, files: list[Path], *more: str) -> tuple[dict[str, Any], str]:
    """The result's JSON and what is printed."""
    arguments = [word for file in files for word in ("--measured", str(file))]
    arguments += ["--start", start, "--out", str(out), "--json", str(out.with_suffix(".json")), *more]
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(out.with_suffix(".json").read_text()), done.output


def test_each_identifiable_parameter_is_found_within_two_percent(
    measured: Any, start: str, tmp_path: Path
) -> None:
    out = tmp_path / "found.toml"
    free = [word for name in TRUTH for word in ("--free", name)]
    found, printed = calibrate(out, start, [measured("dram"), measured("cxl")], *free)
    for parameter in found["parameters"]:
        name = parameter["name"]
        assert parameter["determined"] == "yes", name
        assert parameter["value"] == pytest.approx(TRUTH[name], rel=0.02), name
        assert parameter["interval"][0] < parameter["interval"][1]
    assert found["errors"]["fit_latency"] < 0.02
    assert found["errors"]["held_out_latency"] < 0.02
    assert "held out" in printed
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    # The file is a machine like any other, and says where its numbers are from.
    written = tomllib.loads(out.read_text())
    source = written["host"]["core"]["fill_buffers"]["source"]
    assert source.startswith("calibrated from dram.json, cxl.json on 20")
    device = written["nodes"]["cxl"]["device"]
    assert device["root_port"]["bridge_latency"]["value"].endswith(" ns")
    assert "host.core.fill_buffers" in [fitted["key"] for fitted in written["fitted"]]
    idle = [Workload(machine, Placement((("cxl", 1),)), 0).job(0) for machine in (str(out), MACHINE)]
    point, true = sweep.run(idle, "test")
    assert point.latency_ns == pytest.approx(true.latency_ns, rel=0.02)


def test_two_latencies_that_only_appear_as_a_sum_are_reported_as_such(measured: Any, tmp_path: Path) -> None:
    names = ["dmsim-asic.root_port.bridge_latency", "dmsim-asic.root_port.protocol_latency"]
    free = [word for name in names for word in ("--free", name)]
    # Only the latencies are off: one noisy curve may not tell the number of fill buffers as well.
    off = {name: 0.7 * LEAVES[name].value for name in names}
    start = str(tmp_path / "latencies.toml")
    MachineFiles(MACHINE).write(Path(start), off, dict.fromkeys(off, "wrong on purpose"), "a start")
    found, printed = calibrate(tmp_path / "sum.toml", start, [measured("cxl")], *free)
    by_name = {p["name"]: p for p in found["parameters"]}
    for name in names:
        assert by_name[name]["determined"] == "not_alone"
        assert by_name[name]["interval"] is None
    [together] = found["only_together"]
    assert [part["name"] for part in together["parts"]] == names
    assert [part["factor"] for part in together["parts"]] == pytest.approx([1, 1], abs=0.01)
    # The noise is 0.5 %, about 1.3 ns of a load: the sum is known as well as its interval says.
    truth = sum(LEAVES[name].value for name in names)
    assert abs(together["value"] - truth) < together["half_width"] < 0.1 * truth
    assert f"only together: {names[0]} + {names[1]}" in " ".join(printed.split())


def test_a_parameter_that_the_data_do_not_see_stays_where_it_is(
    measured: Any, start: str, tmp_path: Path
) -> None:
    blind = "dmsim-asic.link.retry_latency"  # at a bit error rate of 1e-12 nothing is sent again
    free = ["--free", "dmsim-asic.root_port.bridge_latency", "--free", blind]
    found, _ = calibrate(tmp_path / "blind.toml", start, [measured("cxl")], *free, "--hold-out", "none")
    [parameter] = [p for p in found["parameters"] if p["name"] == blind]
    assert (parameter["determined"], parameter["value"], parameter["interval"]) == (
        "no",
        LEAVES[blind].value,
        None,
    )
