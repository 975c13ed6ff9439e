"""The points that calibrate stay where silicon has them: 1 %; MICRO'23's rounded figures 5 %."""

from __future__ import annotations

import pytest
from cxlab.bench import sweep
from cxlab.bench.curves import Comparison, Curve
from cxlab.bench.figures import Figure, shipped
from cxlab.bench.request import Mix

CALIBRATION = [figure for figure in shipped() if figure.role == "calibration"]


@pytest.mark.parametrize("figure", CALIBRATION, ids=[figure.id for figure in CALIBRATION])
def test_a_calibrated_figure_is_met(figure: Figure) -> None:
    simulated = figure.simulated(sweep.run(figure.jobs(), figure.id))
    tolerance = 0.05 if figure.id.startswith("M23") else 0.01
    assert abs(figure.error(simulated)) <= tolerance, f"{simulated} for {figure.low}"


def test_latency_is_compared_at_equal_bandwidth() -> None:
    silicon = ((900.0, 300.0), (800.0, 120.0), (400.0, 100.0))
    curve = Curve("p", "cxl", 16, Mix(1, 0), "ordinary", "sequential", silicon)
    comparison = Comparison(curve, [(1000.0, 500.0), (600.0, 110.0), (200.0, 90.0)])
    # 765 is 85 % of 900: only the last point is below the knee; half way from 90 to 110 ns is 100 ns.
    assert comparison.below_knee() == [0.0]
    assert comparison.peak_error == pytest.approx(1000 / 900 - 1)
    assert comparison.at(1200.0) is None
