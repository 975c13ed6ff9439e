"""Machines that only experiments need: shipped machines with a few values changed.

testbed         CXL-DMSim's testbed as its figures have it: prefetchers off in the BIOS
slow_dram       one core saturates DRAM, so that the best share of CXL memory lies between 0 and 100 %
little_llc      8468v-asic with two slices of LLC, no prefetchers: written lines leave the caches soon
response_fifo   8468v-asic with other depths of the FIFOs between root port and device
quarter_of_snc  a quarter of the memory of an SNC node of MICRO'23's testbed, for guests of four processors
executor        what one of EuroSys'24's executors of Spark has of its server, for guests of one processor
"""

from __future__ import annotations

from math import floor
from pathlib import Path

from cxlab import model
from cxlab.asked_machine import AskedMachine
from cxlab.description import Description

BASE = "8468v-asic"
#: CXL-DMSim (Hong et al.), IV-B: "Hardware prefetch mechanisms are all disabled in BIOS settings".
NO_PREFETCH = "host.prefetch.enabled=false"
#: Where a few slices of LLC stand for many: one core may use the whole table and all write buffers of each.
WHOLE_TABLES = ("host.home.requests_of_core=32", "host.home.write_buffers=32")
#: Of `slow_dram` [GB/s].
DRAM_PEAK, CXL_PEAK = 6.4, 3.2
#: Where both memories finish together.
BEST_BY_BANDWIDTH = CXL_PEAK / (DRAM_PEAK + CXL_PEAK)

SLOW_DRAM = """
description = "one slow channel of DRAM, half as much bandwidth on CXL memory; host with few slices of LLC"
based_on = "8468v-asic"
host.llc.slices = 2
{tables}
host.core.fill_buffers = {lines}
host.prefetch.enabled = false

[nodes.dram]
description = "32 bits of DDR4-1600"

[nodes.dram.memory.coarse]
latency = {{ value = "53.5 ns", source = "DDR-L of CXL-DMSim's testbed" }}
banks = {{ value = 16, source = "JESD79-4: 4 groups of 4 banks" }}
bank_busy = {{ value = "48 ns", source = "JESD79-4: tRC = tRAS 35 ns + tRP 13.75 ns" }}
bandwidth = {{ value = "6.4 GB/s", source = "DDR4-1600: 1600 MT/s x 4 B" }}
channels = {{ value = 1, source = "chosen: one core saturates it" }}
interleave = {{ value = "256 B", source = "one channel: nothing is interleaved" }}

[nodes.cxl]
description = "the ASIC expander of CXL-DMSim before a slow channel"

[nodes.cxl.device.memory.coarse]
latency = {{ value = "50 ns", source = "CXL-DMSim table III, CXL-DMSimA: medium_access_lat" }}
banks = {{ value = 16, source = "JESD79-4: 4 groups of 4 banks" }}
bank_busy = {{ value = "48 ns", source = "JESD79-4: tRC = tRAS 35 ns + tRP 13.75 ns" }}
bandwidth = {{ value = "3.2 GB/s", source = "chosen: half of DRAM's, so that a third of the pages is best" }}
channels = {{ value = 1, source = "chosen" }}
interleave = {{ value = "256 B", source = "one channel: nothing is interleaved" }}
"""


#: `dram` and `cxl` are a quarter of the node's bandwidths [GB/s]; latencies are the whole's.
QUARTER_OF_SNC = """
description = "a quarter of the memory of an SNC node of MICRO'23's testbed with CXL-A, for four processors"
based_on = "6430-cxl-a-2ch"
host.llc.slices = 2
host.home.requests_of_core = 8

[nodes.dram]
description = "a quarter of two channels of DDR5-4800"

[nodes.dram.memory.coarse]
latency = {{ value = "46 ns", source = "with it a load takes 104 ns, as from the whole" }}
banks = {{ value = 32, source = "JESD79-5: 8 groups of 4 banks" }}
bank_busy = {{ value = "48 ns", source = "JESD79-5, DDR5-4800: tRC = tRAS 32 ns + tRP 16 ns" }}
bandwidth = {{ value = "{dram} GB/s", source = "a quarter of the whole's" }}
channels = {{ value = 1, source = "chosen" }}
interleave = {{ value = "256 B", source = "one channel: nothing is interleaved" }}

[nodes.cxl]
description = "CXL-A with a quarter of its bandwidth"

[nodes.cxl.device.memory.coarse]
latency = {{ value = "48 ns", source = "with it a load takes 239 ns, as from the whole" }}
banks = {{ value = 32, source = "JESD79-5: 8 groups of 4 banks" }}
bank_busy = {{ value = "48 ns", source = "JESD79-5, DDR5-4800: tRC = tRAS 32 ns + tRP 16 ns" }}
bandwidth = {{ value = "{cxl} GB/s", source = "a quarter of the whole's" }}
channels = {{ value = 1, source = "chosen" }}
interleave = {{ value = "256 B", source = "one channel: nothing is interleaved" }}
"""


def quarter_of_snc(folder: Path) -> Path:
    """Write a quarter of an SNC node's DDR5, LLC and CXL memory into ``folder``: the machine's file.

    Four cores are a quarter of the paper's sixteen, which run an instance each. A core may have as many
    entries of the tables of two slices as it has in eight. Lines of CXL memory have no more LLC than those of
    DDR, on silicon four times as much. What the paper's programs touch is far more than any LLC.
    """
    dram, cxl = (node.bandwidth_gb_s / 4 for node in model.describe("6430-cxl-a-2ch").nodes)
    machine = folder / "quarter-of-snc.toml"
    machine.write_text(QUARTER_OF_SNC.format(dram=round(dram, 1), cxl=round(cxl, 1)))
    return machine


EXECUTOR = """
description = "SPR without SNC, eight channels of DDR5-4800, and an A1000"
based_on = "6430-cxl-a"

[nodes.cxl]
description = "an A1000"
device = "a1000"
"""


#: EuroSys'24 (Tang et al.), 4.2 and 3.1: executors of a server without CXL memory, and its drives.
EXECUTORS, DRIVES = 50, 2
#: Executors that share a card -> lanes that each has, and their rate.
LANES = {8: ("x2", "32 GT/s"), 16: ("x1", "32 GT/s"), 32: ("x1", "16 GT/s")}


def executor(folder: Path, of_a_card: int) -> AskedMachine:
    """One processor and what 1 of ``of_a_card`` executors has of a card; its file is in ``folder``.

    ::

        LLC    2 of 32 slices; its share would be one      DDR5   1 of 8 channels
        CXL    a part of the card's lanes. A flit takes longer on few lanes, and that comes on top of
               the card's latency: a load takes 278 ns on two lanes, 311 on one, and 244 on all 16
        drive  1 of 50 parts of two drives
    """
    machine = folder / "executor.toml"
    machine.write_text(EXECUTOR)
    whole = model.describe("spr-a1000")
    card = next(node.bandwidth_gb_s for node in whole.nodes if node.name == "cxl")
    lanes, rate = LANES[of_a_card]
    assert whole.drive is not None, whole.name
    drive = whole.drive.link_bytes_s * DRIVES / EXECUTORS
    settings = (
        "host.llc.slices=2",
        *WHOLE_TABLES,
        "nodes.dram.memory.detailed.channels=1",
        f"nodes.cxl.device.link.lanes={lanes}",
        f"nodes.cxl.device.link.rate={rate}",
        "nodes.cxl.device.link.wire_time=on top",
        # No more than the lanes carry.
        f"nodes.cxl.device.rated.bandwidth={floor(100 * card / of_a_card) / 100} GB/s",
        f"drive.link={drive / 1e6:g} MB/s",
    )
    return AskedMachine(str(machine), settings)


def testbed(name: str) -> AskedMachine:
    """A machine of CXL-DMSim's testbed by its name, with the BIOS of the paper's figures."""
    return AskedMachine(name, (NO_PREFETCH,))


def slow_dram(folder: Path) -> Path:
    """Write a machine whose DRAM one core saturates into ``folder``: its file.

    ::

        DRAM   half a channel of DDR4-1600, 6.4 GB/s   by bandwidth alone, best is
        CXL    the ASIC expander, 3.2 GB/s behind it   3.2 / (6.4 + 3.2) = 33 % of the pages on CXL

    The host is the 8468V. Its core has as many fill buffers as its superqueue has entries, because its
    prefetchers are off. So 48 lines of 64 B in 130 ns are 24 GB/s. Two slices of LLC instead of 52 keep the
    program's arrays small, and the simulation short. Each has its whole table for the one core.
    """
    lines = Description(model.describe(BASE).spec).count("host", "prefetch", "superqueue")
    machine = folder / "slow-dram.toml"
    machine.write_text(SLOW_DRAM.format(lines=lines, tables="\n".join(WHOLE_TABLES)))
    return machine


def little_llc() -> AskedMachine:
    """8468v-asic nearly without LLC and without prefetchers."""
    return AskedMachine(BASE, ("host.llc.slices=2", *WHOLE_TABLES, NO_PREFETCH))


def response_fifo(depth: int) -> AskedMachine:
    """8468v-asic with FIFOs of ``depth`` entries, and all that must be deeper (the sources say so)."""
    device = "nodes.cxl.device"
    fifos = [f"{device}.root_port.{fifo}={depth}" for fifo in ("request_fifo", "response_fifo")]
    credits = ("root_port.drs_credits", "root_port.ndr_credits", "device.req_credits", "device.rwd_credits")
    above = (*credits, "device.read_queue", "device.write_queue")
    return AskedMachine(BASE, (*fifos, *(f"{device}.{key}={max(64, 2 * depth)}" for key in above)))


def cz120_slice() -> AskedMachine:
    """A twelfth of 9754-cz120, for guests of eight processors: what about eight of its 128 cores have.

    ::

        DDR5   1 of 12 channels         LLC   1 of 16 slices, which eight cores share on silicon too
        CXL    2 lanes of a module's 8, a quarter of one module; a twelfth of four is a third of one

    On two lanes the flits of a message take longer than the device's latency: they come on top of it.
    """
    settings = (
        "host.llc.slices=1",
        "nodes.dram.memory.detailed.channels=1",
        "nodes.cxl.interleave.devices=1",
        "nodes.cxl.device.link.lanes=x2",
        "nodes.cxl.device.link.wire_time=on top",
        "nodes.cxl.device.rated.bandwidth=9 GB/s",
    )
    return AskedMachine("9754-cz120", settings)
