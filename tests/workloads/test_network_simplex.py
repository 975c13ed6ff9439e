"""The network simplex against a solver of linear programs that shares nothing with it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import numpy as np
import pytest
from cxlab.workload import description, prepared
from scipy.optimize import linprog
from scipy.sparse import coo_array
from shipped import WORKLOADS

#: Laws of the numbers, as the program has them.
DEAREST, WIDEST, MOST_SENT = 1000, 100, 40
BITS = (1 << 64) - 1


def draws(seed: int) -> Iterator[int]:
    """splitmix64 (Steele, Lea and Flood, OOPSLA 2014), without the lowest 33 bits."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & BITS
        z = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9 & BITS
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & BITS
        yield (z ^ (z >> 31)) >> 33


def cheapest(nodes: int, arcs: int, seed: int) -> float:
    """Cost of the first thread's problem, by linear programming."""
    numbers = draws(seed * 1000)
    ring = [(place, (place + 1) % nodes, nodes * MOST_SENT, DEAREST * 10) for place in range(nodes)]
    rest = []
    for _ in range(arcs - nodes):
        start, to, wide, cost = (next(numbers) for _ in range(4))
        rest.append((start % nodes, to % nodes, 1 + wide % WIDEST, 1 + cost % DEAREST))
    supply = np.zeros(nodes)
    for place in range(nodes // 2):
        sent = 1 + next(numbers) % MOST_SENT
        supply[place] += sent
        supply[nodes // 2 + next(numbers) % (nodes // 2)] -= sent
    start_of, end_of, width, cost_of = np.array(ring + rest).T
    numbered = np.arange(len(start_of))
    ones = np.ones(len(numbered))
    flows = coo_array((ones, (start_of, numbered)), (nodes, len(numbered))) - coo_array(
        (ones, (end_of, numbered)), (nodes, len(numbered))
    )
    bounds = np.stack([np.zeros(len(width)), width], axis=1)
    found = linprog(cost_of, A_eq=flows, b_eq=supply, bounds=bounds, method="highs")
    assert found.status == 0
    return float(found.fun)


@pytest.mark.parametrize(("nodes", "arcs", "seed"), [(50, 200, 1), (200, 1000, 7)])
def test_the_flow_costs_what_a_linear_program_says(nodes: int, arcs: int, seed: int) -> None:
    workload = description.load(WORKLOADS / "network-simplex")
    program = prepared.prepare(workload, workload.values("tiny", ()), 0).build / prepared.PROGRAM
    said = subprocess.run(
        [program, str(nodes), str(arcs), str(seed), "1"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert float(said.stdout.split()[2]) == pytest.approx(cheapest(nodes, arcs, seed), rel=1e-9)
