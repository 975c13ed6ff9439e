"""The short way of an instruction (core/in_line.rs of the model) gives each figure of the long way.

A core that keeps a profile sends every instruction the long way. So each recording is replayed with a profile
and without one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TRACES = Path(__file__).parent / "traces"
MODEL = (sys.executable, "-m", "cxlab.run.host.model_process", "replay")


def replayed(trace: Path, profile: Path | None) -> dict[str, Any]:
    """The model's summary."""
    job: dict[str, Any] = {
        "trace": str(trace),
        "machine": None,
        "timeline": None,
        "placement": None,
        "sample": None,
    }
    if profile is None:
        return _summary(job, ())
    with profile.open("wb") as file:
        job["profile"] = {"fd": file.fileno(), "path": str(profile)}
        return _summary(job, (file.fileno(),))


def _summary(job: dict[str, Any], inherited: tuple[int, ...]) -> dict[str, Any]:
    done = subprocess.run(
        MODEL, input=json.dumps(job) + "\n", capture_output=True, text=True, check=True, pass_fds=inherited
    )
    summary: dict[str, Any] = json.loads(done.stdout)["summary"]
    return summary


@pytest.mark.parametrize("name", ["qsort", "chase", "lock4", "stream4", "device"])
def test_every_figure_is_that_of_the_long_way(name: str, tmp_path: Path) -> None:
    trace, profile = TRACES / f"{name}.trace", tmp_path / "profile.json"
    quick, long = replayed(trace, None), replayed(trace, profile)
    assert json.loads(profile.read_bytes()), "the long way was taken"
    assert quick == long
