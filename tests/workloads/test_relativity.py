"""The relativity program against the gauge wave: its error falls with the fourth power of the distance."""

from __future__ import annotations

import math
import subprocess

import pytest
from cxlab.workload import description, prepared
from shipped import WORKLOADS


def error(points: int, steps: int) -> float:
    """The largest error of any field."""
    workload = description.load(WORKLOADS / "relativity")
    program = prepared.prepare(workload, workload.values("tiny", ()), 0).build / prepared.PROGRAM
    command = [program, str(points), "0", str(steps)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(said.split()[2])


def test_the_scheme_is_of_fourth_order() -> None:
    # A quarter of a wave's time with 12 and with 24 points a wave; a step is a quarter of a point's distance.
    coarse, fine = error(12, 12), error(24, 24)
    assert math.log2(coarse / fine) == pytest.approx(4, abs=0.5)
