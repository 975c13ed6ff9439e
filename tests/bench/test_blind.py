"""The blind predictions are what ``cxlab validate --blind`` writes; one cheap point is computed again."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner
from cxlab.bench import blind, sweep
from cxlab.cli.validate import command as validate

FOLDER = Path(__file__).parents[2] / "validation" / "blind"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", [prediction.name for prediction in blind.PREDICTIONS])
def test_a_file_has_every_mix_from_the_peak_to_idle(name: str) -> None:
    found = rows(name)
    assert tuple(found[0]) == blind.COLUMNS
    for share in (100, 90, 80, 70, 60, 50):
        curve = [row for row in found if row["read_pct"] == str(share)]
        bandwidths = [float(row["bandwidth_GBps"]) for row in curve]
        assert len(curve) == len(blind.SHARES)
        assert max(bandwidths) > 30 * min(bandwidths)
        assert float(curve[0]["latency_ns"]) > float(curve[-1]["latency_ns"])


def test_a_file_is_what_the_command_writes() -> None:
    [prediction] = [one for one in blind.PREDICTIONS if one.name == "5218"]
    reads = blind.MIXES[0]
    idle = sweep.run(prediction.jobs(reads)[-1:], "idle")[0]
    written = rows("5218")[len(blind.SHARES) - 1]
    assert tuple(written.values()) == blind.row(reads, idle)


def test_blind_stands_alone(tmp_path: Path) -> None:
    refused = CliRunner().invoke(validate, ["--blind", str(tmp_path), "--reference", str(tmp_path)])
    assert refused.exit_code == 2 and "--blind alone" in refused.output
