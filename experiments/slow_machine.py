"""A machine on which one core saturates DRAM, so that the best share of CXL memory lies inside.

::

    DRAM   half a channel of DDR4-1600, 6.4 GB/s   by bandwidth alone, best is
    CXL    the ASIC expander, 3.2 GB/s behind it   3.2 / (6.4 + 3.2) = 33 % of the pages on CXL

The host is the 8468V. Its core has under way what a streaming core has with its prefetchers (superqueue and
prefetches into the LLC; they are off on the 8468V): 59 lines of 64 B in 130 ns are 29 GB/s. Two slices of
LLC instead of 52 keep the program's arrays small, and the simulation short.
"""

from __future__ import annotations

import re
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
#: [GB/s]
DRAM_PEAK, CXL_PEAK = 6.4, 3.2
#: Where both memories finish together.
BEST_BY_BANDWIDTH = CXL_PEAK / (DRAM_PEAK + CXL_PEAK)

MACHINE = """
name = "slow-dram"
description = "one slow channel of DRAM, half as much bandwidth on CXL memory; host with few slices of LLC"
host = "host.toml"

[[nodes]]
name = "dram"
description = "32 bits of DDR4-1600"

[nodes.path.dram.coarse]
latency = { value = "53.5 ns", source = "as 8468v-asic" }
banks = { value = 16, source = "JESD79-4: 4 groups of 4 banks" }
bank_busy = { value = "48 ns", source = "JESD79-4: tRC = tRAS 35 ns + tRP 13.75 ns" }
bandwidth = { value = "6.4 GB/s", source = "DDR4-1600: 1600 MT/s x 4 B" }
channels = { value = 1, source = "chosen: one core saturates it" }
interleave = { value = "256 B", source = "one channel: nothing is interleaved" }

[[nodes]]
name = "cxl"
description = "the ASIC expander of CXL-DMSim before a slow channel"

[nodes.path.cxl]
device = { value = "dmsim-asic", source = "CXL-DMSim tables II and III, CXL-DMSimA" }

[nodes.path.cxl.memory.coarse]
latency = { value = "50 ns", source = "CXL-DMSim table III, CXL-DMSimA: medium_access_lat" }
banks = { value = 16, source = "as dram" }
bank_busy = { value = "48 ns", source = "as dram" }
bandwidth = { value = "3.2 GB/s", source = "chosen: half of DRAM's, so that a third of the pages is best" }
channels = { value = 1, source = "chosen" }
interleave = { value = "256 B", source = "one channel: nothing is interleaved" }
"""


def write(folder: Path) -> Path:
    """Write the machine and its host into ``folder``: the machine's file."""
    host = (DATA / "hosts" / "xeon-8468v.toml").read_text()
    lines = sum(_number(host, key) for key in ("superqueue", "llc_lines"))
    (folder / "host.toml").write_text(_with(_with(host, "fill_buffers", str(lines)), "slices", "2"))
    machine = folder / "slow-dram.toml"
    machine.write_text(MACHINE)
    return machine


def _number(host: str, key: str) -> int:
    [value] = re.findall(rf"^{key} = \{{ value = (\d+)", host, re.MULTILINE)
    return int(value)


def _with(host: str, key: str, value: str) -> str:
    changed, count = re.subn(rf"^({key} = \{{ value = )\d+", rf"\g<1>{value}", host, flags=re.MULTILINE)
    assert count == 1, f"the host has {count} lines for {key}"
    return changed
