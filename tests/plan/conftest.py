"""Applications files for the tests, as text that a test may change."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cxlab.plan.applications import Applications, read_applications

THREE = """\
[fleet]
instances = 1000

[server]
vcpus = 192
dram = ["256 GiB", "512 GiB", "1024 GiB"]
cxl = ["256 GiB", "512 GiB"]

[[application]]
name = "key-value"
r_d = 10
r_c = "8 in 7..9"
footprint = "64 GiB"
vcpus = 8
share = "50 %"
max_slowdown = 1.2

[[application]]
name = "analytics"
r_d = 6
r_c = "5 in 4..5.5"
footprint = "128 GiB"
vcpus = 16
share = "30 %"
max_slowdown = 1.5

[[application]]
name = "web"
r_d = 3
r_c = 2.8
footprint = "8 GiB"
vcpus = 4
share = "20 %"
max_slowdown = 1.1
"""

# The Abstract Cost Model's setting: one application of 10^6 GiB, cores to spare, D = 100 GiB, C = 2. The
# service level is the time of a baseline of 5000 servers: S = R_d - (R_d - 1) N D / W = 10 - 9 * 0.5
PAPER = """\
[fleet]
instances = 10000
[server]
vcpus = 1000000
dram = ["100 GiB"]
cxl = ["50 GiB"]
[[application]]
name = "spark"
r_d = 10
r_c = 8
footprint = "100 GiB"
vcpus = 1
share = 1
max_slowdown = 5.5
"""

Read = Callable[[str], Applications]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a text to a file and read it as an applications file."""

    def write_and_read(text: str) -> Applications:
        path = tmp_path / "applications.toml"
        path.write_text(text)
        return read_applications(path)

    return write_and_read
