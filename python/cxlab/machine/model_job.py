"""What the model's process is told: one line on its standard input (crates/py/src/job.rs reads it)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from cxlab.machine import guest
from cxlab.machine.request import Request
from cxlab.machine.topology import Topology


class JobPipe:
    """The model's standard input: one line, or none."""

    def __init__(self) -> None:
        """Make the pipe; the model inherits `read_end`."""
        self.read_end, self.write_end = os.pipe()

    def __enter__(self) -> JobPipe:
        """Both ends are closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
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


def line(
    request: Request, ready: guest.Ready, out: Path, *, ring: int | None, qemu: int, counters: int | None
) -> bytes:
    """The job of a run whose guest is ready; ``ring`` and ``counters`` are descriptors, ``qemu`` is a pid."""
    places = {node.number: node.place for node in request.machine.nodes}
    job = {
        "ring_fd": ring,
        "qemu_pid": qemu,
        "cpus": request.cpus,
        "machine": request.machine.asked,
        "nodes": [{"node": places[node], "ranges": ranges} for node, ranges in ready.nodes],
        "regions": [_region(request.topology, region) for region in ready.regions],
        "retrainings": [retraining.job() for retraining in request.retrainings],
        "out": str(out),
        "record": None if request.record is None else str(request.record),
        "timeline": None if request.timeline is None else request.timeline.job(),
        "counters_fd": counters,
    }
    return json.dumps(job).encode() + b"\n"


def _region(topology: Topology, region: guest.Region) -> dict[str, Any]:
    """A region in the model's words: its devices are counted from 0 in the order of the window's."""
    window = topology.windows[region.window]
    order = [device.serial for device in window.devices]
    return {
        "node": window.node,
        "base": region.base,
        "size": region.size,
        "granularity": region.granularity,
        "targets": [order.index(serial) for serial in region.serials],
    }
