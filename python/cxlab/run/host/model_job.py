"""The job of the model's process: one line on its standard input (crates/py/src/job.rs reads it)."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cxlab.asked_machine import settings_of
from cxlab.border import LiveJob, Region
from cxlab.run.errors import BadMessage
from cxlab.run.guest import protocol as guest
from cxlab.run.request import Request
from cxlab.run.topology import Topology


def command(task: str) -> list[str]:
    """The model's process; ``task`` is simulate or replay."""
    return [sys.executable, "-m", "cxlab.run.host.model_process", task]


def environment() -> dict[str, str]:
    """Variables of the model's process: where Python finds this package, if somebody had to say."""
    path = os.environ.get("PYTHONPATH")
    return {} if path is None else {"PYTHONPATH": path}


#: The supervisor ends the model, by SIGTERM. Any other end would be no whole answer.
IGNORED = (signal.SIGINT, signal.SIGHUP)


class JobPipe:
    """The model's standard input: one line, or none."""

    def __init__(self) -> None:
        """Make the pipe; the model inherits `read_end`."""
        self.read_end, self.write_end = os.pipe()

    def __enter__(self) -> JobPipe:
        """Both ends are closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close both ends."""
        os.close(self.read_end)
        if self.write_end >= 0:
            os.close(self.write_end)

    def send(self, line: bytes) -> None:
        """Send the line, and that there is no other."""
        try:
            os.write(self.write_end, line)
        except BrokenPipeError:
            return
        finally:
            os.close(self.write_end)
            self.write_end = -1


@dataclass(frozen=True)
class Descriptors:
    """Descriptors that the model inherits."""

    ring: int
    #: a pipe whose writing end only QEMU has
    qemu: int
    #: the counters' port, if the guest has one
    counters: int | None = None
    #: where the trace goes
    record: int | None = None
    #: where the timeline goes
    timeline: int | None = None
    #: where the profile goes
    profile: int | None = None

    def all(self) -> list[int]:
        """All descriptors that are open."""
        every = (self.ring, self.qemu, self.counters, self.record, self.timeline, self.profile)
        return [descriptor for descriptor in every if descriptor is not None]


def line(request: Request, ready: guest.Ready, out: Path, descriptors: Descriptors) -> bytes:
    """The job of a run whose guest is ready."""
    places = {node.number: node.place for node in request.machine.nodes}
    job: LiveJob = {
        "ring_fd": descriptors.ring,
        "qemu_fd": descriptors.qemu,
        "cpus": request.cpus,
        "machine": request.machine.asked,
        "set": settings_of(request.machine.asked),
        "nodes": [{"node": places[node], "ranges": list(ranges)} for node, ranges in ready.nodes],
        "regions": regions(request.topology, ready.regions),
        "retrainings": [],
        "out": str(out),
        "record": None
        if descriptors.record is None
        else {"fd": descriptors.record, "path": str(request.record)},
        "timeline": None
        if request.timeline is None or descriptors.timeline is None
        else request.timeline.job(descriptors.timeline),
        "profile": None
        if descriptors.profile is None
        else {"fd": descriptors.profile, "path": str(out / "profile.json")},
        "counters_fd": descriptors.counters,
    }
    return json.dumps({**job, **request.effect.model}).encode() + b"\n"


def regions(topology: Topology, committed: Sequence[guest.Region]) -> list[Region]:
    """The regions of each window as one, in the model's words: its devices are counted from 0.

    A pmem region follows on the ram region of its window, in addresses of the host as in those of the
    devices.

    Raises:
        BadMessage: Linux has put them in other places.

    """
    told = []
    for window in topology.windows:
        parts = sorted(
            (part for part in committed if part.window == window.number), key=lambda part: part.base
        )
        first = parts[0]
        for before, after in pairwise(parts):
            same = (after.granularity, after.serials) == (first.granularity, first.serials)
            if not same or after.base != before.base + before.size:
                raise BadMessage(
                    f"the guest's Linux put a pmem region elsewhere than behind its ram region: {parts}"
                )
        order = [device.serial for device in window.devices]
        region: Region = {
            "node": window.node,
            "base": first.base,
            "size": sum(part.size for part in parts),
            "granularity": first.granularity,
            "targets": [order.index(serial) for serial in first.serials],
        }
        told.append(region)
    return told
