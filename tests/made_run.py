"""A run's result made by hand: times in round numbers, so that figures follow by mental arithmetic."""

from __future__ import annotations

from typing import Any

from cxlab import model
from cxlab.border import CoreSummary, RunResult


def made_run(
    core: dict[str, float],
    nodes: dict[str, dict[str, float]],
    *,
    kernel: float = 0.0,
    io: float = 0.0,
    stages_ns: dict[str, dict[str, float]] | None = None,
    sampled: list[float] | None = None,
) -> RunResult:
    """Make a run from the parts of its CPI stack [s]. Its time is their sum, on one core."""
    busy = sum(core.values()) + sum(sum(stages.values()) for stages in nodes.values()) + kernel
    nothing: dict[str, Any] = {"core_s": {}, "llc_s": {}, "nodes_s": {}}
    node = {"loads": 1, "stores": 0, "prefetches": 0, "read_bytes": 64, "write_bytes": 0, "devices": []}
    document: dict[str, Any] = {
        "machine": "8468v-asic",
        "complete": True,
        "core": dict.fromkeys(CoreSummary.__struct_fields__, 0),
        "simulated_seconds": busy + io,
        "ipc": 1.0,
        "instructions": {"user": 1, "kernel": 1},
        "time": {"busy_s": busy, "idle_s": 0.0, "io_s": io},
        "cpi_stack": {
            "user": {**nothing, "core_s": core, "nodes_s": nodes},
            "kernel": {**nothing, "core_s": {"execution": kernel}},
            "idle_s": 0.0,
            "io_s": io,
        },
        "nodes": {
            name: {
                **node,
                "bandwidth_mb_s": 1.0,
                "mean_load_latency_ns": 100.0,
                "stages_ns": (stages_ns or {}).get(name, {}),
            }
            for name in ("dram", "cxl")
        },
    }
    if sampled is not None:
        document["sampling"] = {
            "windows": 9,
            "confidence": 0.95,
            "intervals": {"simulated_seconds": sampled},
            "too_few_windows_for": [],
        }
    return model.run_result(document)
