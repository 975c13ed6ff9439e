"""The points that calibrate stay where silicon has them, as means over eight seeds.

MICRO'23's rounded figures are met within 5 %, all others within 1 %, but for two. They are fitted with small
whole numbers, so they can be met within half of a step.
"""

from __future__ import annotations

import json
from statistics import fmean

import pytest
from cxlab.bench import sweep
from cxlab.bench.curves import Comparison, Curve
from cxlab.bench.figures import Figure, shipped
from cxlab.bench.request import Mix

CALIBRATION = {figure.id: figure for figure in shipped() if figure.role == "calibration"}


#: Figures differ from seed to seed. The peak of sixteen threads on DDR has a standard deviation of 0.9 %,
#: that on CXL memory at 2:1 one of 3 %.
SEEDS = 8
#: One write buffer of a slice is 9 % of the first (docs/decisions/write-buffers.md). A core's entries of a
#: slice's table are two; a third would give the second figure 12 % more (docs/decisions/entries-per-core.md).
TOLERANCE = {"A1000-nt-4": 0.05, "A1000-ddr-1": 0.02}


def mean(figure: Figure) -> float:
    """A figure over all seeds."""
    return fmean(figure.simulated(points) for points in sweep.run_drawn(figure.jobs(), SEEDS, figure.id))


#: They take a third of the time of all.
ONCE_A_WEEK = {"CMH-003", "EXT-001"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.once_a_week if name in ONCE_A_WEEK else ())
        for name in sorted(CALIBRATION)
    ],
)
def test_a_calibrated_figure_is_met(name: str) -> None:
    figure = CALIBRATION[name]
    simulated = mean(figure)
    tolerance = TOLERANCE.get(name, 0.05 if name.startswith("M23") else 0.01)
    wanted = f"{figure.low:g}" if figure.low == figure.high else f"{figure.low:g} to {figure.high:g}"
    assert abs(figure.error(simulated)) <= tolerance, (
        f"{figure.what}: {simulated:.4g}, silicon {wanted} {figure.unit}"
    )


def test_no_prediction_is_a_ratio_of_two_rows() -> None:
    """It would say nothing that the two rows do not, and one of them may be fitted."""
    rows = shipped()
    alone = {json.dumps(figure.jobs()): figure.id for figure in rows if len(figure.jobs()) == 1}
    for figure in rows:
        parts = [alone.get(json.dumps([job])) for job in figure.jobs()]
        ratio = len(parts) == 2 and figure.role == "validation"
        assert not ratio or None in parts, f"{figure.id} is made of {parts}"


def test_latency_is_compared_at_equal_bandwidth() -> None:
    silicon = ((900.0, 300.0), (800.0, 120.0), (400.0, 100.0))
    curve = Curve("p", "cxl", 16, Mix(1, 0), "ordinary", "sequential", silicon)
    comparison = Comparison(curve, [(1000.0, 500.0), (600.0, 110.0), (200.0, 90.0)])
    # 765 is 85 % of 900: only the last point is below the knee; half way from 90 to 110 ns is 100 ns.
    assert comparison.below_knee() == [0.0]
    assert comparison.peak_error == pytest.approx(1000 / 900 - 1)
    assert comparison.at(1200.0) is None
