"""Statistics of a CXL memory expander that the tables of a bench show.

    PortPoint.cxl, by names --> Expander, with types

The model names a port's statistics, and new ones may come. The types here have only what a table reads.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from cxlab.border import BenchPoint, StatisticDistribution


class RootPort(Struct, frozen=True):
    """The root port's queues."""

    #: events: a request found the queue full
    full: int


class Direction(Struct, frozen=True):
    """One direction of the link."""

    #: share of the time, 0 to 1; None: no time has passed
    utilisation: float | None
    #: flits that were sent again
    retries: int


class Device(Struct, frozen=True):
    """The queues of the device's controller."""

    #: events: a request found the queue full
    read_queue_full: int
    write_queue_full: int


class DeviceCache(Struct, frozen=True):
    """The DRAM cache of a device with flash."""

    #: requests that found their page
    hits: int
    #: requests that found their page on its way from the flash
    merged: int
    misses: int
    #: pages
    write_backs: int
    #: from the miss to the whole page [ns]; None: no page has come
    fill_latency: StatisticDistribution | None


class Expander(Struct, frozen=True):
    """A root port, its link and its device."""

    root_port: RootPort
    m2s: Direction
    s2m: Direction
    device: Device
    #: None: the device has none
    device_cache: DeviceCache | None = None


def of_point(point: BenchPoint) -> Iterable[Expander]:
    """Read every expander of a point, in the order of nodes and ports."""
    for node in point.nodes.values():
        for port in node.ports:
            if port.cxl:
                yield msgspec.convert(port.cxl, type=Expander)
