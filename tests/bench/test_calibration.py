"""The points that calibrate stay where silicon has them: 1 %; MICRO'23's rounded figures 5 %.

The write buffers of a slice are a whole number. One more or less is 9 % of the latency that they are fitted
to (docs/decisions/write-buffers.md), so that point is met within half of this.
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


#: Peaks differ from seed to seed: of sixteen threads on DDR by 0.9 % (standard deviation), on CXL memory at
#: 2:1 by 3 %. So a peak is the mean over these.
SEEDS = range(1, 9)
#: DEVIATIONS MIS-18: these were fitted to seed 1 alone.
FITTED_TO_ONE_SEED = {"A1000-2:1", "CMH-003"}


def mean(figure: Figure) -> float:
    """A figure over all seeds. One simulation has all their points."""
    jobs = [{**job, "seed": seed} for seed in SEEDS for job in figure.jobs()]
    points = sweep.run(jobs, figure.id)
    each = len(points) // len(SEEDS)
    return fmean(figure.simulated(points[first : first + each]) for first in range(0, len(points), each))


@pytest.mark.parametrize("name", sorted(set(CALIBRATION) - FITTED_TO_ONE_SEED))
def test_a_calibrated_figure_is_met(name: str) -> None:
    figure = CALIBRATION[name]
    peak = figure.settings.metric == "bandwidth"
    simulated = mean(figure) if peak else figure.simulated(sweep.run(figure.jobs(), name))
    tolerance = 0.05 if name.startswith("M23") or name == "A1000-nt-4" else 0.01
    wanted = f"{figure.low:g}" if figure.low == figure.high else f"{figure.low:g} to {figure.high:g}"
    assert abs(figure.error(simulated)) <= tolerance, (
        f"{figure.what}: {simulated:.4g}, silicon {wanted} {figure.unit}"
    )


@pytest.mark.parametrize("name", sorted(FITTED_TO_ONE_SEED))
def test_mis_18_a_peak_was_fitted_to_one_seed(name: str) -> None:
    # Over all seeds it is 2 to 3 % above silicon. Fitted to that mean, it would be within 1 %, as others.
    error = CALIBRATION[name].error(mean(CALIBRATION[name]))
    assert 0.01 < error < 0.05, f"{error:.3f}"


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
