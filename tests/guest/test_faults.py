"""Faults of CXL memory happen as on hardware: poison, a full node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from guests import PYTHON, Cxlab

SIGBUS = 7
LINE = 64


def test_a_poisoned_line_is_a_sigbus_as_on_hardware(programs: Path, tmp_path: Path) -> None:
    """Line 66 of the device, in the second page: who reads it gets SIGBUS, who reads beside it does not."""
    offset = 4096 + 2 * LINE
    poisoned = programs / "poisoned"
    ran = Cxlab(tmp_path).sh(
        f"{poisoned} + /dev/dax0.0 0 4096 {offset}; {poisoned} /dev/dax0.0 {offset}; echo $?; "
        "dmesg | grep -c 'Memory failure'",
        options=[
            *("--cxl", "device", "--managed", "application", "--memory", "dram=512M,cxl=256M"),
            *("--poison", f"cxl={offset}"),
        ],
    )
    assert ran.status == 0, ran.stderr
    words = ran.stdout.decode().splitlines()
    # sigaction(2): BUS_MCEERR_AR, a hardware memory error that was consumed.
    # Its address is the mapped page's, which is 2 MiB large (si_addr_lsb says so).
    assert words[:3] == ["ok", "ok", "BUS_MCEERR_AR 0"]
    assert words[3] == str(128 + SIGBUS)
    assert int(words[4]) >= 1


def test_a_poisoned_page_is_zeroed_and_written_and_its_reader_gets_sigbus(tmp_path: Path) -> None:
    """Intel SDM vol. 3B, 17.9.3.2: loads raise the machine check. The kernel zeroes the page by stores."""
    script = "block = b'x' * (200 << 20); print('written', flush=True); block.count(b'y'); print('read')"
    options = ["--cxl", "device", "--memory", "dram=512M,cxl=256M", "--membind", "cxl", "--poison", "cxl=64M"]
    ran = Cxlab(tmp_path).run(PYTHON, "-c", script, options=options)
    assert (ran.stdout, ran.status) == (b"written\n", 128 + SIGBUS), ran.stderr


@pytest.mark.once_a_week
def test_a_full_node_ends_its_program_and_says_so(tmp_path: Path) -> None:
    options = ["--cxl", "device", "--memory", "dram=512M,cxl=256M", "--membind", "cxl"]
    ran = Cxlab(tmp_path).run(PYTHON, "-c", "b'x' * (400 << 20)", options=options)
    assert ran.status == 137  # 128 + SIGKILL
    assert "a node was too small" in ran.stderr and "cxl 256 MiB" in ran.stderr


def test_a_full_node_that_is_only_preferred_lets_pages_go_to_the_other(tmp_path: Path) -> None:
    """set_mempolicy(2), MPOL_PREFERRED: the node that is full is followed by the nearest."""
    script = """import json, re
block = b'x' * (300 << 20)
counts = {'N0': 0, 'N1': 0, 'free': 0, 'reserve': 0}
for zone in re.split('(?=Node )', open('/proc/zoneinfo').read()):
    if zone.startswith('Node 1,'):
        counts['free'] += int(re.search(r'pages free +(\\d+)', zone)[1])
        counts['reserve'] += int(re.search(r' high +(\\d+)', zone)[1])
for line in open('/proc/self/numa_maps'):
    if 'anon=' in line:
        for node, pages in re.findall(r'(N\\d+)=(\\d+)', line):
            counts[node] += int(pages)
print(json.dumps(counts))"""
    options = ["--memory", "dram=256M,cxl=256M", "--preferred", "cxl"]
    ran = Cxlab(tmp_path).run(PYTHON, "-c", script, options=options)
    assert ran.status == 0, ran.stderr
    counts = json.loads(ran.stdout)
    # All but the reserve of its zones is used, to a huge page of 512; the rest of the 300 MiB is in DRAM.
    assert counts["free"] <= counts["reserve"] + 512
    assert 200 << 8 < counts["N1"] <= 256 << 8
    assert counts["N0"] + counts["N1"] >= 300 << 8
