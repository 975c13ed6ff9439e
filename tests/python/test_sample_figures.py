"""What a terminal says of a sampled run's interval."""

import pytest
from cxlab import model
from cxlab.border import CoreSummary
from cxlab.cli.figures import brief, program

NOTHING: dict[str, dict[str, float]] = {"core_s": {}, "llc_s": {}, "nodes_s": {}}


@pytest.mark.parametrize(
    ("interval", "few", "wanted"),
    [
        ([1.0, 3.0], [], "simulated time in 1 s .. 3 s (95%)\n"),
        ([1.0, 3.0], ["ipc"], "simulated time in 1 s .. 3 s (95%)\n"),
        ([1.0, 3.0], ["simulated_seconds"], "dominated by a few windows: use a smaller `every`"),
        (None, [], "too few for an interval"),
    ],
)
def test_it_says_where_an_interval_is_not_to_be_believed(
    interval: list[float] | None, few: list[str], wanted: str
) -> None:
    document = {
        "machine": "8468v-asic",
        "complete": True,
        "nodes": {},
        "core": dict.fromkeys(CoreSummary.__struct_fields__, 0),
        "simulated_seconds": 2.0,
        "ipc": 1.0,
        "instructions": {"user": 1, "kernel": 1},
        "time": {"busy_s": 2.0, "idle_s": 0.0, "io_s": 0.0},
        "cpi_stack": {"user": NOTHING, "kernel": NOTHING, "idle_s": 2.0, "io_s": 0.0},
        "sampling": {
            "windows": 9,
            "confidence": 0.95,
            "intervals": {"simulated_seconds": interval},
            "too_few_windows_for": few,
        },
    }
    result = model.run_result(document)
    assert wanted in program(result).plain and wanted in brief(result).plain
