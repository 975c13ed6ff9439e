"""``cxlab validate``: options that do not fit together are refused before anything is simulated."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from cxlab import cli


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--plot", "curves.png"], ["--plot", "no curves", "--reference DIR"]),
        (["--blind", "blind", "--json", "points.json"], ["--blind", "--json", "alone"]),
        (["--blind", "blind", "--seeds", "8"], ["--blind", "--seeds", "alone"]),
        (["--blind", "blind", "--plot", "curves.png"], ["--blind", "--plot", "alone"]),
    ],
)
def test_what_does_not_fit_is_named(
    arguments: list[str], words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.cli, ["validate", *arguments])
    assert result.exit_code != 0
    shown = result.output + str(result.exception)
    for word in words:
        assert word in shown, shown
    assert list(tmp_path.iterdir()) == []
