"""Results of runs made by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cxlab.border import RunResult

from tests.made_run import made_run

Make = Callable[..., RunResult]


@pytest.fixture
def run() -> Make:
    """Make a run from the parts of its CPI stack."""
    return made_run
