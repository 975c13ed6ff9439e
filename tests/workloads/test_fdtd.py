"""The FDTD program against Yee's dispersion relation: a mode of the box keeps its frequency."""

from __future__ import annotations

import math
import subprocess

import pytest
from cxlab.workload import description, prepared
from shipped import WORKLOADS

#: Cells that light crosses in a step, as the program has it.
COURANT = 0.5


@pytest.mark.parametrize(("cells", "steps"), [(16, 1), (16, 333), (40, 100)])
def test_the_field_in_the_middle_swings_as_yees_scheme_says(cells: int, steps: int) -> None:
    workload = description.load(WORKLOADS / "fdtd")
    program = prepared.prepare(workload, workload.values("tiny", ()), 0).build / prepared.PROGRAM
    said = subprocess.run([program, str(cells), "0", str(steps)], check=True, capture_output=True, text=True)
    middle = float(said.stdout.split()[2])
    # Taflove and Hagness, 4.3: sin^2(w dt / 2) = (c dt / dx)^2 (sin^2(kx dx / 2) + sin^2(ky dx / 2)).
    squares = 2 * math.sin(math.pi / cells / 2) ** 2
    frequency = 2 * math.asin(COURANT * math.sqrt(squares))
    assert middle == pytest.approx(math.cos(frequency * steps), abs=1e-9)
    # The exact wave of the box is near it, and is not it.
    exact = math.cos(COURANT * math.sqrt(2) * math.pi / cells * steps)
    assert 0 < abs(middle - exact) < 0.1
