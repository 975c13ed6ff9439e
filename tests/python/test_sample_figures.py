"""A terminal shows the interval of a sampled run."""

from typing import Any

import pytest
from cxlab import model
from cxlab.border import CoreSummary, NodeSummary, RunResult
from cxlab.cli.figures import brief, program
from cxlab.compare import report
from cxlab.compare.slowdown import Column

NOTHING: dict[str, dict[str, float]] = {"core_s": {}, "llc_s": {}, "nodes_s": {}}
DOCUMENT: dict[str, Any] = {
    "machine": "8468v-asic",
    "complete": True,
    "nodes": {},
    "core": dict.fromkeys(CoreSummary.__struct_fields__, 0),
    "simulated_seconds": 2.0,
    "ipc": 1.0,
    "instructions": {"user": 1, "kernel": 1},
    "time": {"busy_s": 2.0, "idle_s": 0.0, "io_s": 0.0},
    "cpi_stack": {"user": NOTHING, "kernel": NOTHING, "idle_s": 2.0, "io_s": 0.0},
}


@pytest.mark.parametrize(
    ("interval", "few", "wanted"),
    [
        ([1.0, 3.0], [], "simulated time in 1 s .. 3 s (95%)\n"),
        ([1.0, 3.0], ["ipc"], "simulated time in 1 s .. 3 s (95%)\n"),
        (
            [1.0, 3.0],
            ["simulated_seconds"],
            "dominated by a few windows: give --sample more of them (a smaller `every`)",
        ),
        (None, [], "too few for an interval"),
    ],
)
def test_it_says_where_an_interval_is_not_to_be_believed(
    interval: list[float] | None, few: list[str], wanted: str
) -> None:
    document = {
        **DOCUMENT,
        "sampling": {
            "windows": 9,
            "confidence": 0.95,
            "intervals": {"simulated_seconds": interval},
            "too_few_windows_for": few,
        },
    }
    result = model.run_result(document)
    assert wanted in program(result).plain and wanted in brief(result).plain


@pytest.mark.parametrize(
    ("few", "wanted"),
    [([], "idle 100% (90% .. 100%)\n"), (["where_it_went.idle"], "idle -\n")],
)
def test_where_it_went_has_intervals(few: list[str], wanted: str) -> None:
    document = {
        **DOCUMENT,
        "sampling": {
            "windows": 90,
            "confidence": 0.95,
            "intervals": {"simulated_seconds": [1.0, 3.0], "where_it_went": {"idle": [0.9, 1.0]}},
            "too_few_windows_for": few,
        },
    }
    assert wanted in brief(model.run_result(document)).plain


#: The latency of loads.
FEW = ["nodes.cxl.mean_load_latency_ns"]


def _result(few: list[str]) -> RunResult:
    """A run with one node whose latency lies in an interval, or is named."""
    node = {
        **dict.fromkeys(NodeSummary.__struct_fields__, 0),
        "loads": 10,
        "mean_load_latency_ns": 300.0,
        "bandwidth_mb_s": 100.0,
        "stages_ns": {"fill_buffer": 20.0},
        "devices": [],
    }
    ends = {"loads": [5, 15], "mean_load_latency_ns": [280.0, 320.0], "bandwidth_mb_s": [90.0, 110.0]}
    document = {
        **DOCUMENT,
        "nodes": {"cxl": node},
        "sampling": {
            "windows": 90,
            "confidence": 0.95,
            "intervals": {
                "simulated_seconds": [1.0, 3.0],
                "ipc": [0.9, 1.1],
                "nodes": {"cxl": {**ends, "stages_ns": {"fill_buffer": [15.0, 25.0]}}},
            },
            "too_few_windows_for": few,
        },
    }
    return model.run_result(document)


def test_a_figure_has_its_interval_or_is_not_told() -> None:
    """The latency is 300 - 20 ns; if both err in the worst way, 280 - 25 to 320 - 15."""
    told, untold = brief(_result([])).plain, brief(_result(FEW)).plain
    assert "a load takes 280.0 ns (255.0 ns .. 305.0 ns)" in told
    assert "100.00 MB/s" in told and "(90.00 MB/s .. 110.00 MB/s)" in told
    assert "a load takes -\n" in untold and "280.0" not in untold
    assert "IPC 1.000 (0.900 .. 1.100)" in told


def test_programs_get_null_where_too_few_windows_tell() -> None:
    column = Column("dram", "8468v-asic", "dram", [_result(FEW)], {})
    node = report.document([column])["columns"][0]["nodes"]["cxl"]
    assert node["load_latency_ns"] is None and node["bandwidth_mb_s"] == 100.0
    # The memory's latency is what is left of the load's: where that cannot be told, neither can this.
    assert node["memory_latency_ns"] is None
    assert node["intervals"] == {
        "bandwidth_mb_s": (90.0, 110.0),
        "load_latency_ns": None,
        "wait_in_core_ns": (15.0, 25.0),
        "memory_latency_ns": None,
    }
