"""What a terminal says of a sampled run's interval."""

import pytest
from cxlab.cli.figures import program


@pytest.mark.parametrize(
    ("interval", "few", "wanted"),
    [
        ([1.0, 3.0], [], "simulated time in 1 s .. 3 s (95%)\n"),
        ([1.0, 3.0], ["ipc"], "simulated time in 1 s .. 3 s (95%)\n"),
        ([1.0, 3.0], ["simulated_seconds"], "a few of them make much of it: a smaller every tells more"),
        (None, [], "too few for an interval"),
    ],
)
def test_it_says_where_an_interval_is_not_to_be_believed(
    interval: list[float] | None, few: list[str], wanted: str
) -> None:
    document = {
        "simulated_seconds": 2.0,
        "ipc": 1.0,
        "instructions": {"user": 1, "kernel": 1},
        "time": {"busy_s": 2.0, "idle_s": 0.0, "io_s": 0.0},
        "cpus": 1,
        "sampling": {
            "windows": 9,
            "confidence": 0.95,
            "intervals": {"simulated_seconds": interval},
            "too_few_windows_for": few,
        },
    }
    assert wanted in program(document).plain
