"""Figures that real programs make: their rows have intervals, and what has been run is not run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from experiments import guests, measures, workloads
from experiments.experiment import Asked
from experiments.measures import REDIS_YCSB
from experiments.reproduce_command import command


def test_a_change_is_real_if_its_interval_does_not_hold_zero() -> None:
    real = workloads.row("slower", -20.0, [80.0, 81.0, 79.0], [100.0, 101.0, 99.0])
    chance = workloads.row("alike", None, [95.0, 108.0, 99.0], [100.0, 101.0, 99.0])
    one_seed = workloads.row("alone", None, [80.0], [100.0])
    assert real.interval_text.endswith(", real") and real.high is not None and real.high < 0
    assert chance.interval_text.endswith("no difference shown")
    assert one_seed.interval_text == "-"


PROGRAMS = [one for one in vars(measures).values() if isinstance(one, measures.Program)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_type_of_measures_has_those_of_the_workload(program: measures.Program[Any]) -> None:
    named = list(workloads.find(program.name).document.measures)
    seeds = {name: [1.0, 2.0] for name in named}
    read = msgspec.convert(seeds, program.measures)
    assert msgspec.to_builtins(read) == seeds
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**seeds, named[0]: "1.0"}, program.measures)


@pytest.mark.parametrize("percent", [10, 20, 25, 33, 50, 67, 75])
def test_a_share_of_pages_is_its_weights(percent: int) -> None:
    flag, weights = workloads.share(percent)
    dram, cxl = (int(pair.split("=")[1]) for pair in weights.split(","))
    # 33 and 67 % stand for a third and two.
    assert flag == "--weighted-interleave"
    assert round(100 * cxl / (dram + cxl)) == percent


def test_a_figure_is_made_by_a_program_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["eurosys24/fig8", "--quick", "--out", str(tmp_path)]
    done = CliRunner().invoke(command, asked)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("workload: real program: redis-server")
    assert workloads.QUICK_NOTE in done.output
    document = json.loads((tmp_path / "eurosys24-fig8.json").read_text())
    assert document["made_with"] == "real program"
    # EuroSys'24, section 4.3.2: the throughput is around 12.5 % less.
    assert document["tables"][0]["rows"][0]["paper"] == -12.5

    def never(*arguments: object) -> str:
        raise AssertionError(f"{arguments} had been run")

    monkeypatch.setattr(guests, "cxlab", never)
    again = CliRunner().invoke(command, asked)
    assert again.exit_code == 0, again.output
    (tmp_path / "eurosys24-fig8.json").unlink()
    # Other values are another run.
    runs = workloads.Runs(Asked(True, tmp_path), REDIS_YCSB, "spr-a1000")
    with pytest.raises(AssertionError, match="had been run"):
        runs.measure(workloads.share(0), rate=5)
