"""Options that the commands with a guest share: which machine, how Linux sees it, what is timed, kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from cxlab.cli.sampling_options import sampling_options
from cxlab.cli.timeline_options import timeline_options
from cxlab.machine.topology import Attachment, Managed

DEFAULT_MACHINE = "8468v-asic"
#: A turn of this length costs the host little, and is short against what threads wait for each other.
DEFAULT_SKEW = "2us"

_OPTIONS: list[Callable[[Any], Any]] = [
    click.option(
        "--machine",
        default=DEFAULT_MACHINE,
        show_default=True,
        metavar="NAME|FILE",
        help="See `cxlab machines`.",
    ),
    click.option(
        "--cpus", type=int, default=1, show_default=True, metavar="N", help="Processors of the guest, 1 to 8."
    ),
    click.option(
        "--skew",
        default=DEFAULT_SKEW,
        show_default=True,
        metavar="TIME",
        help="How far a processor may be ahead of the one most behind.",
    ),
    click.option(
        "--memory", metavar="NODE=SIZE,...", help="Size of each node; 2G where not given. dram=2G,cxl=2G"
    ),
    click.option(
        "--cxl",
        "attachment",
        type=click.Choice([choice.value for choice in Attachment]),
        default=Attachment.FIRMWARE.value,
        show_default=True,
        help="How Linux learns of CXL nodes: devices that its driver enumerates, or the firmware's tables.",
    ),
    click.option(
        "--managed",
        type=click.Choice([choice.value for choice in Managed]),
        default=Managed.KERNEL.value,
        show_default=True,
        help="Who manages the devices' memory: Linux, as a NUMA node, or a program, as /dev/dax0.0.",
    ),
    click.option("--interleave-ways", type=int, metavar="N", help="Devices of each CXL node: 1, 2 or 4."),
    click.option("--granularity", metavar="SIZE", help="Bytes in a row on one device: 256 to 16K."),
    click.option(
        "--host-bridges",
        type=int,
        default=1,
        show_default=True,
        metavar="N",
        help="Of each CXL node: 1 or 2.",
    ),
    click.option(
        "--retrain",
        "retrainings",
        multiple=True,
        metavar="NODE=WIDTH,RATE[,TIME]",
        help="A node's CXL links come down to this, TIME after detail began. cxl=x8,16GT/s,2ms",
    ),
    click.option(
        "--poison",
        multiple=True,
        metavar="NODE=OFFSET",
        help="A line of a CXL device is poisoned: who reads it gets SIGBUS. cxl=64M",
    ),
    click.option(
        "--tiering",
        "scan_period_ms",
        type=click.IntRange(min=1),
        metavar="MS",
        help="Linux promotes hot pages (numa_balancing 2) and demotes cold ones; it looks for them every MS "
        "of simulated time, 1000 on a machine that runs for long.",
    ),
    click.option(
        "--swap", metavar="SIZE", help="Swap on a disk whose requests take 80 us of simulated time."
    ),
    click.option(
        "--detail",
        type=click.Choice(["all", "marker", "off"]),
        default="all",
        show_default=True,
        help="What is timed: the whole program, what is between its own markers, or nothing.",
    ),
    click.option(
        "--env", "variables", multiple=True, metavar="NAME=VALUE", help="Set a variable; may be repeated."
    ),
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Results; default: cxlab-runs/<UTC time>-<program>.",
    ),
    click.option(
        "--json",
        "json_file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Summary.",
    ),
    click.option(
        "--record",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Write the trace of the run here.",
    ),
    *sampling_options,
    click.option(
        "--warm-up",
        is_flag=True,
        help="With --detail marker: keep caches and predictor warm, functionally, from PROGRAM's start to "
        "the first marker.",
    ),
    *timeline_options,
    click.option("--stats", is_flag=True, help="Show every statistic, with unit and description."),
]


@dataclass(frozen=True)
class GuestOptions:
    """As given; checked by `cxlab.cli.session`."""

    machine: str
    cpus: int
    skew: str
    memory: str | None
    attachment: str
    managed: str
    interleave_ways: int | None
    granularity: str | None
    host_bridges: int
    retrainings: tuple[str, ...]
    poison: tuple[str, ...]
    scan_period_ms: int | None
    swap: str | None
    detail: str
    variables: tuple[str, ...]
    out: Path | None
    json_file: Path | None
    record: Path | None
    sample: str | None
    sample_seed: int
    warm_up: bool
    timeline_file: Path | None
    window: str
    stats: bool


def guest_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command all of them; they come as keywords, for `GuestOptions`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
