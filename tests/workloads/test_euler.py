"""The Euler mini-app against the exact solution of Sod's shock tube, along both axes."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cxlab.workload import description, prepared
from numpy.typing import NDArray
from scipy.optimize import brentq
from shipped import WORKLOADS

GAMMA = 1.4
#: Sod, J. Comput. Phys. 27 (1978): density and pressure left and right of 0.5, at rest; the time compared.
LEFT, RIGHT, TIME = (1.0, 1.0), (0.125, 0.1), 0.2
Profile = NDArray[np.float64]


def exact(x: float) -> tuple[float, float, float]:
    """Density, velocity and pressure: E. Toro, Riemann Solvers, chapter 4."""
    (d_l, p_l), (d_r, p_r) = LEFT, RIGHT
    c_l, c_r = math.sqrt(GAMMA * p_l / d_l), math.sqrt(GAMMA * p_r / d_r)

    def rarefaction(p: float) -> float:
        return 2 * c_l / (GAMMA - 1) * ((p / p_l) ** ((GAMMA - 1) / (2 * GAMMA)) - 1)

    def shock(p: float) -> float:
        a, b = 2 / ((GAMMA + 1) * d_r), (GAMMA - 1) / (GAMMA + 1) * p_r
        return (p - p_r) * math.sqrt(a / (p + b))

    p = brentq(lambda p: rarefaction(p) + shock(p), p_r, p_l)
    u = shock(p)
    d_left = d_l * (p / p_l) ** (1 / GAMMA)
    ratio = (GAMMA - 1) / (GAMMA + 1)
    d_right = d_r * (p / p_r + ratio) / (ratio * p / p_r + 1)
    front = c_r * math.sqrt((GAMMA + 1) / (2 * GAMMA) * p / p_r + (GAMMA - 1) / (2 * GAMMA))
    speed = (x - 0.5) / TIME
    tail = u - c_l * (p / p_l) ** ((GAMMA - 1) / (2 * GAMMA))
    if speed < -c_l:
        return d_l, 0.0, p_l
    if speed < tail:
        c = 2 / (GAMMA + 1) * (c_l - (GAMMA - 1) / 2 * speed)
        inside = 2 / (GAMMA + 1) * (c_l + speed)
        return d_l * (c / c_l) ** (2 / (GAMMA - 1)), inside, p_l * (c / c_l) ** (2 * GAMMA / (GAMMA - 1))
    if speed < u:
        return d_left, u, p
    return (d_right, u, p) if speed < front else (d_r, 0.0, p_r)


@pytest.fixture(scope="module")
def program() -> Path:
    workload = description.load(WORKLOADS / "euler")
    return prepared.prepare(workload, workload.values("tiny", ()), 0).build / prepared.PROGRAM


def run(program: Path, cells: int, direction: str = "x") -> tuple[list[float], Profile]:
    command = [program, "sod", str(cells), direction]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    sums = [float(word) for word in said[0].split() if word[0].isdigit()]
    return sums, np.array([[float(word) for word in line.split()] for line in said[1:]])


def error(profile: Profile) -> list[float]:
    """Mean distance from the exact solution, of density, velocity and pressure."""
    wanted = np.array([exact(x) for x in profile[:, 0]])
    return [float(mean) for mean in np.abs(profile[:, 1:] - wanted).mean(axis=0)]


def test_the_exact_solution_is_toros() -> None:
    # Toro, table 4.2, test 1: pressure, velocity and the two densities between the waves.
    assert exact(0.6) == pytest.approx((0.42632, 0.92745, 0.30313), abs=1e-5)
    assert exact(0.75)[0] == pytest.approx(0.26557, abs=1e-5)


@pytest.mark.parametrize("direction", ["x", "y"])
def test_a_shock_tube_is_the_exact_one(program: Path, direction: str) -> None:
    _, profile = run(program, 400, direction)
    # A second-order scheme smears the shock and the contact over a few of 400 cells.
    assert all(found < 0.006 for found in error(profile))
    # No new extremes: limited slopes.
    assert profile[:, 1].max() < 1 + 1e-6 and profile[:, 1].min() > 0.125 - 1e-6


def test_finer_cells_are_nearer(program: Path) -> None:
    coarse, fine = (error(run(program, cells)[1])[0] for cells in (100, 400))
    # First order at shocks: a quarter of the length, a quarter of the error, less for the contact.
    assert fine < coarse / 2.5


def test_both_axes_are_alike(program: Path) -> None:
    along_x, along_y = (run(program, 100, direction)[1] for direction in "xy")
    assert np.allclose(along_x, along_y, rtol=1e-9, atol=1e-12)


def test_mass_is_kept_and_energy_to_a_thousandth(program: Path) -> None:
    (mass, mass_after, energy, energy_after), _ = run(program, 400)
    assert mass_after == pytest.approx(mass, rel=1e-12)
    # The remap of momentum loses kinetic energy at shocks; CloverLeaf's does, too.
    assert energy_after == pytest.approx(energy, rel=1e-3)
