"""Placement of the program's pages: the options of ``cxlab run``, and what the guest's init is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from cxlab.run.errors import BadRequest
from cxlab.run.machine import Machine
from cxlab.run.options.option import Given, Option
from cxlab.run.size import LEAST_BOOT_NODE_BYTES, MIB, UNITS, format_bytes, parse_bytes

DEFAULT_NODE_BYTES = 2 * UNITS["G"]
LEAST_NODE_BYTES = 16 * MIB
#: Linux: 1..=255 (sysfs-kernel-mm-mempolicy-weighted-interleave).
MOST_WEIGHT = 255


def pairs(option: str, text: str, example: str) -> dict[str, str]:
    """The values of nodes by their names, from ``dram=2G,cxl=2G``."""
    values: dict[str, str] = {}
    for item in text.split(","):
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise BadRequest(f"{option} {text}: '{item}' is not NODE=VALUE; valid: {example} and the like")
        if name in values:
            raise BadRequest(f"{option} {text}: the node '{name}' is named twice. Name each node once")
        values[name] = value
    return values


def parse_memory(text: str | None, machine: Machine) -> tuple[int, ...]:
    """Size of each node [bytes], from ``dram=2G,cxl=2G``; a node that is not named has 2 GiB."""
    sizes = dict.fromkeys((node.name for node in machine.nodes), DEFAULT_NODE_BYTES)
    if text is not None:
        for name, value in pairs("--memory", text, "dram=2G,cxl=2G").items():
            sizes[machine.node(name).name] = parse_bytes(value)
    for node in machine.nodes:
        size = sizes[node.name]
        least = LEAST_BOOT_NODE_BYTES if node.place == 0 else LEAST_NODE_BYTES
        if size < least:
            why = "Linux needs it to boot" if node.place == 0 else "a node is made of larger blocks"
            raise BadRequest(
                f"--memory {node.name}={format_bytes(size)} is too small: "
                f"at least {format_bytes(least)}, {why}"
            )
        if size % (2 * MIB) != 0:
            raise BadRequest(
                f"--memory {node.name}={format_bytes(size)}: this is not a multiple of 2M; "
                "valid: 2G, 512M and the like"
            )
    return tuple(sizes[node.name] for node in machine.nodes)


def beyond_this_host(node_bytes: tuple[int, ...], host_bytes: int) -> str | None:
    """Return a warning about nodes that are larger than this host; None if they are not."""
    if sum(node_bytes) <= host_bytes:
        return None
    return (
        f"the nodes have {format_bytes(sum(node_bytes))} in all, this host has "
        f"{host_bytes / UNITS['G']:.1f} GiB: a program that touches more than that ends the run; "
        "--memory makes nodes smaller"
    )


@dataclass(frozen=True)
class Placement:
    """A memory policy; at most one of the options of ``cxlab run``."""

    #: as on the command line, for results
    text: str
    #: as the guest's init reads it (crates/guest-init/src/placement.rs)
    policy: str | dict[str, Any]


DEFAULT = Placement("default (local node first)", "default")


def _number(name: str, machine: Machine) -> int:
    """Linux's number of the node.

    Raises:
        BadRequest: there is no such node, or a program manages its memory.

    """
    number = machine.node(name).number
    if number is None:
        raise BadRequest(
            f"the memory of {name} is managed by the application: no policy places pages there; "
            "a program maps /dev/dax*, or --managed kernel makes it a node"
        )
    return number


def _nodes(text: str, machine: Machine) -> list[int]:
    return [_number(name, machine) for name in text.split(",")]


class Options(TypedDict, total=False):
    """The options of the command line, by their names; `None` is not given."""

    membind: str | None
    preferred: str | None
    interleave: str | None
    weighted_interleave: str | None


def _one(options: Options) -> tuple[str, str] | None:
    """The option that is given and its value.

    Raises:
        BadRequest: more than one is.

    """
    asked = [
        (f"--{name.replace('_', '-')}", str(value)) for name, value in options.items() if value is not None
    ]
    if len(asked) > 1:
        names = " and ".join(option for option, _ in asked)
        raise BadRequest(
            f"{names} exclude each other, because a program starts with one memory policy. Give one of them"
        )
    return asked[0] if asked else None


def parse(machine: Machine, **options: Unpack[Options]) -> Placement:
    """The placement that the options ask for.

    Raises:
        BadRequest: more than one option, an unknown node, or a weight outside 1..255.

    """
    asked = _one(options)
    if asked is None:
        return DEFAULT
    option, value = asked
    text = f"{option} {value}"
    match option:
        case "--membind":
            return Placement(text, {"bind": _nodes(value, machine)})
        case "--preferred":
            return Placement(text, {"preferred": _number(value, machine)})
        case "--interleave":
            return Placement(text, {"interleave": _nodes(value, machine)})
        case _:
            weights = _weights(value)
            return Placement(
                text,
                {"weighted_interleave": [(_number(name, machine), weight) for name, weight in weights]},
            )


def parse_again(**options: Unpack[Options]) -> tuple[str, list[tuple[str, int]]] | None:
    """Read the new placement of a recorded program's pages, for people and for the model: nodes and pages
    in a row.

    Raises:
        BadRequest: more than one option, several nodes that fill up one after the other, or a weight outside
            1..255.

    """
    asked = _one(options)
    if asked is None:
        return None
    option, value = asked
    match option:
        case "--membind" | "--preferred":
            if "," in value:
                raise BadRequest(
                    f"{option} {value}: pages of a recorded run go to one node, or take turns (--interleave)"
                )
            nodes = [(value, 1)]
        case "--interleave":
            nodes = [(name, 1) for name in value.split(",")]
        case _:
            nodes = _weights(value)
    return f"{option} {value}", nodes


def _weights(text: str) -> list[tuple[str, int]]:
    weights = []
    for name, value in pairs("--weighted-interleave", text, "dram=3,cxl=1").items():
        if not (value.isascii() and value.isdigit() and 1 <= int(value) <= MOST_WEIGHT):
            raise BadRequest(
                f"--weighted-interleave {text}: '{value}' is no weight: a whole number in 1..{MOST_WEIGHT}"
            )
        weights.append((name, int(value)))
    return weights


MEMORY: Option[str | None] = Option(
    "--memory",
    "Size of each memory node.  [default: 2G each]  Example: dram=4G,cxl=8G",
    {"metavar": "NODE=SIZE,..."},
)
MEMBIND: Option[str | None] = Option(
    "--membind", "Put the program's pages only on these nodes.  Example: cxl", {"metavar": "NODES"}
)
PREFERRED: Option[str | None] = Option(
    "--preferred",
    "Put pages on this node while it has room, then on others.  Example: dram",
    {"metavar": "NODE"},
)
INTERLEAVE: Option[str | None] = Option(
    "--interleave",
    "Put pages on these nodes in turn, one page each.  Example: dram,cxl",
    {"metavar": "NODES"},
)
WEIGHTED: Option[str | None] = Option(
    "--weighted-interleave",
    "Put pages on these nodes in turn, as many in a row as the node's weight, 1 to 255.  Example: "
    "dram=3,cxl=1",
    {"metavar": "NODE=WEIGHT,..."},
)
#: A program starts with one of them at most.
POLICIES = (MEMBIND, PREFERRED, INTERLEAVE, WEIGHTED)


def policies(given: Given) -> Options:
    """The policies as `parse` and `parse_again` take them."""
    return {
        "membind": given[MEMBIND],
        "preferred": given[PREFERRED],
        "interleave": given[INTERLEAVE],
        "weighted_interleave": given[WEIGHTED],
    }
