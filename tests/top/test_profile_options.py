"""``--profile``: a sampled run has none, because a profile of windows would name wrong callers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TRACES = Path(__file__).resolve().parents[1] / "golden" / "traces"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--sample", "auto", "--profile", "--", "true"], "--sample with --profile"),
        (
            ["replay", str(TRACES / "device.trace"), "--profile", "p.json", "--sample", "auto"],
            "--sample with --profile",
        ),
        # Here only the model learns that the recording has windows.
        (["replay", str(TRACES / "sampled.trace"), "--profile", "p.json"], "was recorded with --sample"),
    ],
)
def test_a_sampled_run_has_no_profile(arguments: list[str], says: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cxlab", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 125 and says in done.stderr, done.stderr
    assert not list(tmp_path.glob("p.json*"))
