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
from cxlab.machine import description

#: CXL-DMSim's testbed: media 53.5 ns, bridge 50 ns, 60 lines a streaming core (data/).
TRUTH = {"dram.latency": 53.5, "dmsim-asic.root_port.bridge_latency": 50.0, "host.core.stream_lines": 60.0}
MACHINE = "8468v-asic"
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
    files = {
        "8468v-asic.toml": (
            "machines/8468v-asic.toml",
            [("53.5 ns", "70 ns"), ('"xeon-8468v"', '"host.toml"'), ('"dmsim-asic"', '"dmsim-asic.toml"')],
        ),
        "host.toml": ("hosts/xeon-8468v.toml", [("_lines = { value = 60", "_lines = { value = 44")]),
        "dmsim-asic.toml": ("devices/dmsim-asic.toml", [("50 ns", "33 ns")]),
    }
    for name, (shipped, changes) in files.items():
        text = description.model().shipped_file(shipped)
        assert text is not None
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / name).write_text(text)
    return str(tmp_path / "8468v-asic.toml")
