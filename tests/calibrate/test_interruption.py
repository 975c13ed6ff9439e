"""Ctrl-C: the best candidate so far is the result."""

from __future__ import annotations

from typing import Any

import pytest
from cxlab.calibrate import fit, identify, observation, parameter
from cxlab.calibrate import measured as measured_files
from cxlab.calibrate.identify import Determined
from cxlab.calibrate.machine_files import MachineFiles
from cxlab.calibrate.simulator import Simulator


class CtrlC:
    """Presses it after so many points."""

    def __init__(self, after: int) -> None:
        self.left = after

    def expect(self, points: int) -> None:
        pass

    def advance(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def search(file: Any, start: str, after: int) -> tuple[parameter.Parameter, fit.Fit]:
    files = MachineFiles(start)
    series = measured_files.read([file], measured_files.Told(None, None), files.nodes)
    fitted = [o for o in observation.observations(series, 3.8) if o.role is observation.Role.FIT]
    [free] = parameter.choose(files, ["dmsim-asic.root_port.bridge_latency"], [])
    with Simulator(files, [free], CtrlC(after)) as simulator:
        return free, fit.fit(simulator, [free], fitted, 12, lambda _rms: None)


def test_what_was_found_so_far_is_kept(measured: Any, start: str) -> None:
    # At most nine points a candidate: three seeds of the start, a step and more candidates have run by then.
    free, found = search(measured("cxl"), start, after=60)
    assert not found.complete
    [one], together = identify.estimates([free], found)
    assert (one.determined, one.interval, together) == (Determined.UNKNOWN, None, [])
    assert free.low <= one.value <= free.high
    assert one.value != free.start


def test_before_anything_was_found_it_is_an_interruption(measured: Any, start: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        search(measured("cxl"), start, after=1)
