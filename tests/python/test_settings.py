"""``--set KEY=VALUE``: one value of a machine, on every command that simulates one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cxlab import model
from cxlab.asked_machine import AskedMachine
from cxlab.cli.bench import command as bench
from cxlab.cli.machines import command as machines
from cxlab.cli.run import command as run
from cxlab.run.options import simulated
from cxlab.run.options.option import Given

BRIDGE = "nodes.cxl.device.root_port.bridge_latency"


def chase(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    file = tmp_path / "point.json"
    line = ["latency", "--machine", "8468v-asic", "--node", "cxl", *arguments, "--json", str(file)]
    done = CliRunner().invoke(bench, line)
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = json.loads(file.read_text())
    return document


def test_a_latency_set_longer_is_seen_twice_by_each_read(tmp_path: Path) -> None:
    before = float(json.loads(model.entries("8468v-asic")[_place(BRIDGE)].value).removesuffix(" ns"))
    shipped, slower = chase(tmp_path), chase(tmp_path, "--set", f"{BRIDGE}={before + 100} ns")
    # Through the bridge with the request, and back with the data. The chase meets other refreshes then.
    added = slower["points"][0]["latency_ns"] - shipped["points"][0]["latency_ns"]
    assert added == pytest.approx(200, rel=0.02)
    assert slower["set"] == [f"{BRIDGE}={before + 100} ns"] and "set" not in shipped


def _place(key: str) -> int:
    return [entry.key for entry in model.entries("8468v-asic")].index(key)


def test_show_prints_what_is_set_and_where_it_is_from() -> None:
    done = CliRunner().invoke(machines, ["show", "8468v-asic", "--set", "host.llc.slices=2"])
    assert done.exit_code == 0, done.output
    assert "host.llc.slices = 2  # set on the command line" in done.output.splitlines()


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("host.llc.slices=0", ["host.llc.slices = 0", "1 to 1024"]),
        ("nodes.far.socket=other", ["no node `far`", "dram, cxl"]),
        ("host.llc.slics=2", ["slics", "slices"]),
        ("host.llc", ["KEY=VALUE"]),
    ],
)
def test_a_setting_is_checked_like_a_file(setting: str, says: list[str]) -> None:
    done = CliRunner().invoke(
        bench, ["latency", "--machine", "8468v-asic", "--node", "cxl", "--set", setting]
    )
    assert done.exit_code == 2, done.output
    for part in says:
        assert part in done.output


def test_a_run_and_a_replay_are_asked_for_a_machine_with_its_settings() -> None:
    context = run.make_context("run", ["--set", "host.llc.slices=2", "--set", "host.cores=4", "--", "true"])
    given = Given(context.params)
    assert given[simulated.SET] == ("host.llc.slices=2", "host.cores=4")
    # A replay without either option is on the recorded machine; settings alone change the recorded machine.
    assert simulated.asked(None, ()) is None
    alone = simulated.asked(None, ("host.llc.slices=2",))
    assert isinstance(alone, AskedMachine) and (alone, alone.settings) == ("", ("host.llc.slices=2",))


@pytest.mark.parametrize(
    ("options", "enabled"), [(["--prefetch"], True), (["--no-prefetch"], False), ([], None)]
)
def test_the_prefetchers_of_a_run_are_on_or_off_or_as_the_host_file_has_them(
    options: list[str], enabled: bool | None
) -> None:
    for machine in ("8468v-asic", "spr-a1000"):
        context = run.make_context("run", ["--machine", machine, *options, "--", "true"])
        asked = AskedMachine(machine, simulated.settings(Given(context.params)))
        host_files = model.describe(machine).spec["host"]["prefetch"]["enabled"]["value"]
        found = model.describe(asked).spec["host"]["prefetch"]["enabled"]["value"]
        assert found is (host_files if enabled is None else enabled)
