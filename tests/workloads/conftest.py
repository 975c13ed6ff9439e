"""The workloads of this checkout, and their programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from cxlab.workload import description, prepared
from shipped import WORKLOADS


@pytest.fixture(scope="session")
def client() -> Path:
    """YCSB's client, as `cxlab workload run` builds it."""
    workload = description.load(WORKLOADS / "redis-ycsb")
    return prepared.prepare(workload, workload.values("tiny", ()), 0).build / prepared.PROGRAM
