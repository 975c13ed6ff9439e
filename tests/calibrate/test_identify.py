"""Which parameters the data determine: a least-squares fit by hand."""

from __future__ import annotations

import numpy as np
import pytest
from cxlab.calibrate import identify, parameter
from cxlab.calibrate.fit import Fit
from cxlab.calibrate.identify import Determined
from cxlab.calibrate.machine_files import MachineFiles


@pytest.mark.parametrize(("scatter", "determined"), [(0.01, Determined.YES), (4.0, Determined.NO)])
def test_an_interval_as_wide_as_the_search_determines_nothing(scatter: float, determined: Determined) -> None:
    """Four points that each double with the parameter: its error is t(0.975, 3) = 3.18 halves of theirs."""
    [free] = parameter.choose(MachineFiles("8468v-asic"), ["dmsim-asic.root_port.bridge_latency"], [])
    residuals = scatter * np.array([1.0, -1.0, 1.0, -1.0])
    found = Fit((free.start,), residuals, np.ones((4, 1)), np.array([1e-9]), complete=True)
    [one], _ = identify.estimates([free], found)
    assert one.determined is determined
    if determined is Determined.YES:
        assert one.interval is not None
        # Variance with three degrees of freedom: 4/3 of a square; of the mean of four, a quarter of that.
        half = 3.182 * scatter * (4 / 3) ** 0.5 / 2 * free.start
        assert one.interval[1] - one.value == pytest.approx(half, rel=1e-3)
    else:
        assert one.interval is None and one.value == free.start
