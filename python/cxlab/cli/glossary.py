"""Words of CXLab's results that no table of the code declares: `cxlab explain` says what they mean."""

from __future__ import annotations

#: In the order in which a reader of a run's table meets them.
WORDS = {
    "simulated time": (
        "the time that the program takes on the simulated machine. A guest reads it from its clocks"
    ),
    "IPC": "instructions per cycle. Only the core cycles count in which the cores were busy",
    "node": (
        "a NUMA node: memory with its own distance from the processor. Its name is dram or cxl in "
        "most machines"
    ),
    "bandwidth": "bytes that are read and written at a memory, over the simulated time",
    "memory latency": (
        "the time of a load from where it leaves the core until its data are back. The wait in the "
        "core comes before, and is no part of it"
    ),
    "wait in the core": (
        "the time that a load spends before it leaves its core: for a translation of its address, or "
        "for a free fill buffer"
    ),
    "fill buffer": (
        "an entry of the core that holds a line from the miss in L1 until the line comes. Their "
        "number bounds how many lines a core has under way. So a core has less bandwidth to a far "
        "memory"
    ),
    "load to use": "the time from where a load's address is known until an instruction can use its data",
    "line": "64 bytes, what caches and memories hand on",
    "LLC": "last-level cache: the one that all cores of a cluster share, in slices",
    "home agent": (
        "the part of the processor that serves the requests for a line. It asks the LLC and the other "
        "cores, then the memory"
    ),
    "CPI stack": (
        "the time of a core by what its oldest instruction waits for. All parts together are the whole time"
    ),
    "slowdown": "the simulated time of a column over that of the first column",
    "window": "a stretch of instructions that a sample times",
    "warming": ("executing instructions without timing, so that caches, TLBs and branch predictor know them"),
    "interval": (
        "the range in which the figure of the whole program lies, with the confidence that stands beside it"
    ),
    "marker": "an instruction in a program that says where timing begins or ends",
    "trace": "a file of what a program executed, for `cxlab replay`",
    "stage": ("a part of a request's way to a memory and back. The stages of a load add up to its latency"),
    "TCO": "total cost of ownership: buying a server, and running it for its life",
}
