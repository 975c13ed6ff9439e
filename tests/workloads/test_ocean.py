"""The ocean program against its scheme: how a tracer moves and decays, and how the surface swings."""

from __future__ import annotations

import cmath
import math
import subprocess

import pytest
from cxlab.workload import description, prepared
from shipped import WORKLOADS

#: As the program has them: cells that the current crosses in a long step, and a wave in a short one; mixing.
CURRENT, WAVE, SHORT, MIXING = 0.30 + 0.20, 0.45, 20, 0.8


@pytest.mark.parametrize(("cells", "layers", "steps"), [(16, 4, 1), (32, 8, 60)])
def test_tracer_and_surface_are_what_the_scheme_says(cells: int, layers: int, steps: int) -> None:
    workload = description.load(WORKLOADS / "ocean")
    program = prepared.prepare(workload, workload.values("tiny", ()), 0).build / prepared.PROGRAM
    command = [program, str(cells), str(layers), "0", str(steps)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = {line.split()[1]: float(line.split()[2]) for line in said.splitlines() if line.startswith("#")}
    # Durran, 2.4 and 2.5: the third-order upstream difference, and Heun's method, on exp(i k x).
    angle = 2 * math.pi / cells
    upstream = (2 * cmath.exp(1j * angle) + 3 - 6 * cmath.exp(-1j * angle) + cmath.exp(-2j * angle)) / 6
    moved = 1 - CURRENT * upstream + (CURRENT * upstream) ** 2 / 2
    mixed = 1 / (1 + MIXING * (2 - 2 * math.cos(math.pi / layers)))
    top = math.cos(math.pi * (layers - 0.5) / layers)
    assert found["mean"] == pytest.approx(1, abs=1e-9)
    assert found["tracer"] == pytest.approx(1 + top * ((moved * mixed) ** steps).real, abs=1e-6)
    # The wave of exact equations is near the scheme's, and is not it.
    exact = cmath.exp(-1j * CURRENT * angle * steps) * math.exp(-MIXING * (math.pi / layers) ** 2 * steps)
    assert 0 < abs(found["tracer"] - 1 - top * exact.real) < 0.1
    # Forward-backward: h(n + 1) - 2 h(n) + h(n - 1) = -c h(n), from h(0) = 1 and h(1) = 1 - c.
    square = 2 * (WAVE * 2 * math.sin(angle / 2)) ** 2
    before, now = 1.0, 1.0
    for _ in range(steps * SHORT):
        before, now = now, 2 * now - before - square * now
    assert found["surface"] == pytest.approx(now, abs=1e-5)
