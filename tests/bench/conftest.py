"""A bench point of the model, and silicon-free helpers."""

from __future__ import annotations

from typing import Any

import pytest
from cxlab import model
from cxlab.bench import sweep
from cxlab.bench.request import Mix, Placement, Workload


@pytest.fixture
def point() -> Any:
    """One loaded-latency point."""

    def run(machine: str, node: str, delay: int = 0, **settings: Any) -> dict[str, Any]:
        mix = Mix.parse(settings.pop("mix", "1:0"))
        threads = settings.pop("threads", 16)
        workload = Workload(machine, Placement(((node, 1),)), threads, mix, **settings)
        return model.document(sweep.run([workload.job(delay)], "test")[0])

    return run
