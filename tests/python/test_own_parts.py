"""A user's own parts: a host and a DRAM part are one TOML file each, and need no source."""

from __future__ import annotations

from pathlib import Path

import pytest
from cxlab import model
from cxlab.bench.request import Placement, Workload
from cxlab.border import BenchPoint

BASE = "8468v-asic"
#: What EXTENDING.md promises of a host.
MOST_HOST_LINES = 15
HOST = """description = "a processor of my own"
microarchitecture = "golden-cove"
cores = 32
core = { frequency = "3.5 GHz", tsc = "2 GHz" }
prefetch.enabled = false
home.requests = 32
mesh = { columns = 8, rows = 4, hop_across = "1 ns", hop_along = "0.5 ns", to_home = "20 ns", home_to_memory = "23 ns" }
[llc]
slices = 32
slice_capacity = "1.875 MiB"
ways = 15
replacement = "lru"
latency = "33 ns"
"""  # noqa: E501
#: CL of DDR5-4800B is 40 clocks of 2.4 GHz (JESD79-5B).
DRAM = """name = "DDR5-4800 whose data come late"
based_on = "DDR5-4800"
timing.CL = "64nCK"
"""
LATE_NS = (64 - 40) / 2.4


def machine(folder: Path, differs: str) -> str:
    file = folder / "machine.toml"
    file.write_text(f'based_on = "{BASE}"\n{differs}\n')
    return str(file)


def stages(machine: str) -> dict[str, float]:
    """Stages of one chase on an idle machine [ns]."""
    point: BenchPoint = model.bench_point(Workload(machine, Placement((("dram", 1),)), threads=0).job(0))
    return point.stages_ns


def test_a_host_is_one_file_of_fifteen_lines(tmp_path: Path) -> None:
    assert len(HOST.splitlines()) <= MOST_HOST_LINES
    (tmp_path / "host.toml").write_text(HOST)
    mine = machine(tmp_path, 'host = "host.toml"')
    assert stages(mine)["home_to_memory"] == stages(mine)["memory_to_home"] == pytest.approx(23.0)
    [cores] = [entry for entry in model.entries(mine) if entry.key == "host.cores"]
    assert (cores.value, cores.source) == ("32", "given by the user")


def test_a_dram_part_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "late.toml").write_text(DRAM)
    late = stages(machine(tmp_path, 'nodes.dram.memory.detailed.dram = "late.toml"'))
    # They meet other refreshes: 25 ns of spread over 3,000 loads each are 0.65 ns, taken three times.
    assert late["media"] - stages(BASE)["media"] == pytest.approx(LATE_NS, abs=2.0)
