"""The time of a run in parts that a table can show, from the CPI stack of its cores.

::

    cpu | translation | fill_buffers | llc | home | NODE.memory | NODE.link | NODE.device | io | idle
          all of them together: the simulated time of each core

A moment is in the part that the core's oldest instruction waits for (crates/model/src/core/cpi_stack.rs).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from cxlab import model
from cxlab.border import ModeStack, RunResult


class Kind(Enum):
    """Why a moment is lost, as a sentence says it."""

    LATENCY = "latency", "what the way of a line takes without load: LLC, mesh, link, device, DRAM"
    BANDWIDTH = (
        "bandwidth",
        "what the stages of a memory take beyond their time without load: others are ahead",
    )
    FILL_BUFFERS = "fill buffers", "waiting until the core has a fill buffer: its concurrency is used up"
    TRANSLATION = "address translation", "second TLB and page walks of the program"
    CPU = "CPU", "no wait beyond L2"
    KERNEL = "kernel", "busy time in the kernel, whatever it waited for"
    IO = "I/O", "requests to devices"
    IDLE = "idle", "nothing to do until a timer"

    description: str

    def __new__(cls, word: str, description: str) -> Kind:
        """The value is the word alone."""
        made = object.__new__(cls)
        made._value_, made.description = word, description
        return made


#: Keys in JSON of the rows that belong to no node.
CPU, TRANSLATION, FILL_BUFFERS, LLC, HOME = "cpu", "translation", "fill_buffers", "llc", "home"
IO, IDLE = "io", "idle"


@dataclass(frozen=True)
class Row:
    """A part of the time: what a table calls it, and what it is."""

    label: str
    description: str


ROWS = {
    CPU: Row(
        "CPU",
        "the core retires, executes, refills behind a branch that was not guessed, or waits for L1, L2 or "
        "the width of its store queue",
    ),
    TRANSLATION: Row("address translation", "the oldest instruction waits for the second TLB or a page walk"),
    FILL_BUFFERS: Row(
        "queueing for fill buffers",
        "the oldest load or store waits until the core has a fill buffer for its line. They bound the lines "
        "that are under way: the longer the memory's latency, the longer this wait. No time of the memory",
    ),
    LLC: Row("LLC hits", "the oldest instruction waits for a line that the LLC or another core has"),
    HOME: Row(
        "mesh and home agents", "on the mesh, at the home agents, or between sockets, for a line of a memory"
    ),
    IO: Row("I/O", "a request to a device, or a device's registers"),
    IDLE: Row("idle", "the core has nothing to do until a timer, or has ended before the others"),
}
#: By the stage's place: the part of a node's row.
NODE_PARTS = {"media": "memory", "fabric": "link", "device": "device"}
NODE_ROWS = {
    "memory": Row("DRAM", "the memory channels of a node on the socket's own channels"),
    "link": Row("CXL link", "root port, bridges of the host, switches and links, both ways"),
    "device": Row("CXL device", "the type-3 device: its protocol, its queue and its DRAM"),
}


@dataclass(frozen=True)
class Moment:
    """A stretch of a run's time that is charged alike."""

    seconds: float
    part: str
    kind: Kind
    #: the node and the stage that it waited at; None where it waited for no line of a memory
    stage: tuple[str, str] | None = None


def label(part: str) -> str:
    """Return a part's name in tables."""
    node, dot, which = part.rpartition(".")
    return f"{node}: {NODE_ROWS[which].label}" if dot else ROWS[part].label


def moments(result: RunResult) -> Iterator[Moment]:
    """All time of all cores of a run."""
    stack = result.cpi_stack
    for mode, is_kernel in ((stack.user, False), (stack.kernel, True)):
        for moment in _of_mode(mode):
            yield Moment(moment.seconds, moment.part, Kind.KERNEL, None) if is_kernel else moment
    yield Moment(stack.io_s, IO, Kind.IO)
    yield Moment(stack.idle_s, IDLE, Kind.IDLE)


def _of_mode(mode: ModeStack) -> Iterator[Moment]:
    for cause, seconds in mode.core_s.items():
        match cause:
            case "walks":
                yield Moment(seconds, TRANSLATION, Kind.TRANSLATION)
            case "registers":
                yield Moment(seconds, IO, Kind.IO)
            case _:
                yield Moment(seconds, CPU, Kind.CPU)
    places = {name: place for name, place, _ in model.stages()}
    for stage, seconds in mode.llc_s.items():
        yield _in_the_core(stage, seconds) or Moment(seconds, LLC, Kind.LATENCY)
    for node, stages in mode.nodes_s.items():
        # What has neither link nor device is on the socket's channels.
        is_behind_link = any(places[stage] == "fabric" for stage in stages)
        for stage, seconds in stages.items():
            yield _in_the_core(stage, seconds) or Moment(
                seconds, _part_of_node(node, places[stage], is_behind_link), Kind.LATENCY, (node, stage)
            )


def _in_the_core(stage: str, seconds: float) -> Moment | None:
    match stage:
        case "fill_buffer":
            return Moment(seconds, FILL_BUFFERS, Kind.FILL_BUFFERS)
        case "translation":
            return Moment(seconds, TRANSLATION, Kind.TRANSLATION)
        case _:
            return None


def _part_of_node(node: str, place: str, is_behind_link: bool) -> str:
    if place == "home":
        return HOME
    return f"{node}.{'device' if is_behind_link and place == 'media' else NODE_PARTS[place]}"


def parts(result: RunResult) -> dict[str, float]:
    """Seconds of each part, in the order of a table."""
    found: dict[str, float] = defaultdict(float)
    for moment in moments(result):
        found[moment.part] += moment.seconds
    return {part: found[part] for part in order(found)}


def order(found: Iterable[str]) -> list[str]:
    """Sort parts for a table: the core's, then each node's, then I/O."""
    rows, of_nodes = list(ROWS), list(NODE_ROWS)

    def place(part: str) -> tuple[int, int, str]:
        node, dot, which = part.rpartition(".")
        return (
            (rows.index(IO), of_nodes.index(which) - len(of_nodes), node)
            if dot
            else (rows.index(part), 0, "")
        )

    return sorted(found, key=place)


#: Time of a load in a stage without load [ns], by node and stage.
Unloaded = Mapping[str, Mapping[str, float]]


def kinds(result: RunResult, unloaded: Unloaded) -> dict[Kind, float]:
    """Seconds of each kind.

    What a stage of a memory takes beyond its time without load is bandwidth: other requests are ahead. The
    rest is latency.
    """
    found = dict.fromkeys(Kind, 0.0)
    for moment in moments(result):
        queued = 0.0 if moment.stage is None else _queued(result, unloaded, *moment.stage)
        found[moment.kind] += moment.seconds * (1 - queued)
        found[Kind.BANDWIDTH] += moment.seconds * queued
    return found


def _queued(result: RunResult, unloaded: Unloaded, node: str, stage: str) -> float:
    """Share of the time in a stage that is beyond its time without load, 0 to 1; 0 where no load tells."""
    mean = result.nodes[node].stages_ns.get(stage, 0.0)
    without = unloaded.get(node, {}).get(stage, 0.0)
    return max(0.0, 1 - without / mean) if mean > 0 and node in unloaded else 0.0
