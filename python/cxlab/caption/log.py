"""The controller's log, ``caption.jsonl``: a header, then a line a sample (crates/caption/src/log.rs)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import IO

import msgspec
from msgspec import Struct

from cxlab.run.errors import BadMessage


class Line(Struct, frozen=True):
    """A sample: its metrics, and what the controller made of them. What was not counted is absent."""

    #: end of the interval, simulated [s]
    time_s: float
    #: in force while the sample was taken, fraction of new pages
    cxl_share: float
    #: as the kernel's weights have it, 2:1
    placement: str
    #: instructions in user mode [10^6/s]
    throughput: float
    ipc: float | None = None
    l1_miss_latency_ns: float | None = None
    ddr_read_latency_ns: float | None = None
    cxl_read_latency_ns: float | None = None
    #: no decision rests on the sample
    left_out: bool = False
    #: of the decision that followed, with the share it set
    verdict: str | None = None
    next_cxl_share: float | None = None


@dataclass
class LogFile:
    """Takes the lines as they come from the guest: each goes into the file, then to who watches."""

    file: IO[bytes]
    watch: Callable[[Line], None]
    lines: list[Line] = field(default_factory=list)

    def record(self, raw: bytes) -> None:
        """Take one line; the first is the header."""
        with self._named():
            self.file.write(raw + b"\n")
        line = _line(raw, "the guest's controller sent")
        if line is not None:
            self.lines.append(line)
            self.watch(line)

    def close(self) -> None:
        """Write what is left, and close the file. A full disk raises `OSError` with its name."""
        with self._named():
            self.file.close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.file.name) from error


class _Header(Struct):
    format: str


def _line(raw: bytes, place: str) -> Line | None:
    """A sample; `None` for the header. Raises `BadMessage`."""
    try:
        return msgspec.json.decode(raw, type=Line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            msgspec.json.decode(raw, type=_Header)
            return None
        raise BadMessage(f"{place} {raw[:80]!r}, which is no sample: {error}") from None


def read(path: Path) -> list[Line]:
    """Read the samples of a log in the order of time.

    Raises:
        BadMessage: a line is no sample.

    """
    numbered = enumerate(path.read_bytes().splitlines(), 1)
    lines = (_line(raw, f"{path}, line {number}:") for number, raw in numbered if raw)
    return [line for line in lines if line is not None]


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
    for line in (line for line in lines if not line.left_out):
        if not stretches or stretches[-1][0].cxl_share != line.cxl_share:
            stretches.append([])
        stretches[-1].append(line)
    return [_held(stretch) for stretch in stretches]


def _held(stretch: list[Line]) -> Held:
    def mean(metric: Callable[[Line], float | None]) -> float:
        read = [value for value in map(metric, stretch) if value is not None]
        return fmean(read) if read else float("nan")

    return Held(
        share=stretch[0].cxl_share,
        placement=stretch[0].placement,
        throughput=mean(lambda line: line.throughput),
        ipc=mean(lambda line: line.ipc),
        l1_miss_ns=mean(lambda line: line.l1_miss_latency_ns),
        ddr_read_ns=mean(lambda line: line.ddr_read_latency_ns),
        cxl_read_ns=mean(lambda line: line.cxl_read_latency_ns),
    )


def resting(lines: list[Line]) -> float:
    """Return the share at which the controller rests: the median of the last third of the samples
    [fraction]."""
    last = sorted(line.cxl_share for line in lines[-max(1, len(lines) // 3) :])
    return float(last[len(last) // 2])
