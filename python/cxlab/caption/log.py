"""The controller's log, ``caption.jsonl``: a header, then a line a sample (crates/caption/src/log.rs)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import IO, Any

#: A line of the log: the sample's metrics by name, and what the controller made of them.
Line = dict[str, Any]


@dataclass
class LogFile:
    """Takes the lines as they come from the guest: each goes into the file, then to who watches."""

    file: IO[bytes]
    watch: Callable[[Line], None]
    lines: list[Line] = field(default_factory=list)

    def record(self, raw: bytes) -> None:
        """Take one line; the first is the header."""
        self.file.write(raw + b"\n")
        line = json.loads(raw)
        if "format" not in line:
            self.lines.append(line)
            self.watch(line)


def read(path: Path) -> list[Line]:
    """The samples of a log, in the order of time."""
    lines = [json.loads(line) for line in path.read_text().splitlines() if line]
    return [line for line in lines if "format" not in line]


@dataclass(frozen=True)
class Held:
    """A share that was held for a while, without the samples in which pages were still moving."""

    #: fraction of pages on CXL memory
    share: float
    #: as the kernel's weights have it, 2:1
    placement: str
    #: means over the samples: instructions of user mode [10^6/s], IPC, latencies [ns]
    throughput: float
    ipc: float
    l1_miss_ns: float
    ddr_read_ns: float
    cxl_read_ns: float


def held(lines: list[Line]) -> list[Held]:
    """Each stretch at one share, in the order of time, without the samples that were left out."""
    stretches: list[list[Line]] = []
    for line in (line for line in lines if not line.get("left_out", False)):
        if not stretches or stretches[-1][0]["cxl_share"] != line["cxl_share"]:
            stretches.append([])
        stretches[-1].append(line)
    return [_held(stretch) for stretch in stretches]


def _held(stretch: list[Line]) -> Held:
    def mean(metric: str) -> float:
        read = [line[metric] for line in stretch if metric in line]
        return fmean(read) if read else float("nan")

    return Held(
        share=stretch[0]["cxl_share"],
        placement=stretch[0]["placement"],
        throughput=mean("throughput"),
        ipc=mean("ipc"),
        l1_miss_ns=mean("l1_miss_latency_ns"),
        ddr_read_ns=mean("ddr_read_latency_ns"),
        cxl_read_ns=mean("cxl_read_latency_ns"),
    )


def resting(lines: list[Line]) -> float:
    """Where the controller rests: the median share of the last third of the samples [fraction]."""
    last = sorted(line["cxl_share"] for line in lines[-max(1, len(lines) // 3) :])
    return float(last[len(last) // 2])
