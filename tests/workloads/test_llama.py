"""llama.cpp makes tokens on the host: their probabilities are those of double precision, or it fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cxlab.workload import description, prepared
from shipped import WORKLOADS

VALUES: dict[str, description.Value] = {"layers": 2, "dimension": 256, "context": 16, "tokens": 3}


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    """The script's, with two threads."""
    workload = description.load(WORKLOADS / "llama-decode")
    values = {**VALUES, "threads": 2}
    return prepared.prepare(workload, values, seed=7).variables(workload, values, seed=7)


def run(variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", WORKLOADS / "llama-decode" / "run.sh"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_its_probabilities_are_those_of_double_precision(variables: dict[str, str]) -> None:
    done = run(variables)
    assert done.returncode == 0, done.stderr
    measures = dict(line.split()[1:] for line in done.stdout.splitlines() if line.startswith("measure "))
    assert set(measures) == {"tokens_per_second", "read", "error"}
    # States of 8 bits: a rounding of half a step in 127 at most. 14 products in a row add that up.
    assert 0 < float(measures["error"]) < 14 * 0.5 / 127
    size = (Path(variables["WORKLOAD_DATA"]) / "model.gguf").stat().st_size
    assert float(measures["read"]) == pytest.approx(float(measures["tokens_per_second"]) * size / 1e9)


def test_other_weights_are_found_out(variables: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(variables["WORKLOAD_DATA"], tmp_path / "data")
    file = tmp_path / "data" / "expected.json"
    expected = json.loads(file.read_text())
    # The same model would give these to a prompt that differs in its last token.
    expected["prompt"][-1] ^= 1
    file.write_text(json.dumps(expected))
    done = run({**variables, "WORKLOAD_DATA": str(tmp_path / "data")})
    assert done.returncode == 1
    assert "probabilities of the next token are off" in done.stderr
