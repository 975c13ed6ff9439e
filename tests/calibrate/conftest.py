"""Curves of a known machine, with noise, and a start that is off."""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from cxlab.bench import sweep
from cxlab.bench.request import Mix, Placement, Workload
from cxlab.bench.result import Result
from cxlab.calibrate.machine_files import MachineFiles

MACHINE = str(Path(__file__).with_name("testbed.toml"))
LEAVES = MachineFiles(MACHINE).leaves
TRUTH = {
    name: LEAVES[name].value
    for name in ("dram.latency", "dmsim-asic.root_port.bridge_latency", "host.core.fill_buffers")
}
#: One thread: points of hundredths of a second.
DELAYS = (0, 200, 250, 300, 400, 700, 1500, 4000, 20000)
#: Standard deviation of the noise, relative.
NOISE = 0.005


@functools.cache
def _curve(node: str) -> str:
    workload = Workload(MACHINE, Placement(((node, 1),)), 1, Mix(1, 0))
    points = sweep.run([workload.job(delay) for delay in DELAYS], "test")
    return json.dumps(Result("loaded-latency", workload, points).document())


@pytest.fixture
def measured(tmp_path: Path) -> Any:
    """Write the noisy curve of a node: the file's path."""

    def write(node: str) -> Path:
        noise = random.Random(7)
        document = json.loads(_curve(node))
        for point in document["points"]:
            point["latency_ns"] *= 1 + noise.gauss(0, NOISE)
            point["bandwidth_mb_s"] *= 1 + noise.gauss(0, NOISE)
        file = tmp_path / f"{node}.json"
        file.write_text(json.dumps(document))
        return file

    return write


@pytest.fixture
def start(tmp_path: Path) -> str:
    """The machine with all of ``TRUTH`` a third off."""
    off = {name: value * (1.3 if name == "dram.latency" else 0.7) for name, value in TRUTH.items()}
    file = tmp_path / "start.toml"
    MachineFiles(MACHINE).write(file, off, dict.fromkeys(off, "wrong on purpose"), "a start")
    return str(file)
