"""The machine's topology: a drawing (SVG) and the same in words.

::

    cores, LLC ── home agent ─┬─ dram: 1 way        113.5 ns   38.4 GB/s
                              └─ link x16 ── cxl: device   269.3 ns   47.4 GB/s
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from cxlab.border import MachineFigures, NodeFigures
from cxlab.description import Description, NodeDescription

#: Of a box and of the gap between two [pixels].
WIDTH, HEIGHT, GAP = 190, 62, 46


@dataclass(frozen=True)
class Box:
    """A part of the machine: lines of text."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Topology:
    """A host, and the ways to its nodes."""

    machine: str
    host: Box
    #: from the home agent outwards
    ways: Sequence[Sequence[Box]]

    def words(self) -> list[str]:
        """A sentence a way."""
        host = ", ".join(self.host.lines)
        return [f"{host}; " + "; then ".join(", ".join(box.lines) for box in way) for way in self.ways]

    def svg(self) -> str:
        """The drawing; its title is for who cannot see it."""
        longest = max(len(way) for way in self.ways)
        width = (2 + longest) * (WIDTH + GAP)
        height = len(self.ways) * (HEIGHT + GAP)
        middle = (height - GAP - HEIGHT) / 2
        home = WIDTH + GAP
        parts = [
            _box(0, middle, self.host),
            _box(home, middle, Box(("home agent", "mesh, snoop filter"))),
            _line(WIDTH, middle, home, middle),
        ]
        for row, way in enumerate(self.ways):
            top, left = row * (HEIGHT + GAP), home
            for number, box in enumerate(way):
                here = home + (number + 1) * (WIDTH + GAP)
                parts += [_line(left + WIDTH, top if number else middle, here, top), _box(here, top, box)]
                left = here
        title = escape(f"Topology of {self.machine}: " + ". ".join(self.words()))
        return (
            f'<svg role="img" viewBox="-2 -2 {width} {height}" style="max-width:{width}px">'
            f"<title>{title}</title>{''.join(parts)}</svg>"
        )


def of_machine(figures: MachineFigures) -> Topology:
    """Draw a machine from its key figures and its description."""
    host, nodes = figures.host, Description(figures.spec).nodes
    return Topology(
        figures.name,
        Box((host.name, f"{host.cores} cores, {host.frequency_ghz:g} GHz", "caches, LLC")),
        [_way(node, described) for node, described in zip(figures.nodes, nodes, strict=True)],
    )


def _way(node: NodeFigures, described: NodeDescription) -> list[Box]:
    devices = f"{node.devices} device{'s' if node.devices != 1 else ''}" if node.kind == "cxl" else ""
    memory = Box((f"node {node.name}", f"{node.latency_ns:.1f} ns, {node.bandwidth_gb_s:.1f} GB/s", devices))
    between = [Box(("socket link", "to the other socket"))] if described.is_remote else []
    if node.kind != "cxl":
        return [*between, memory]
    return [*between, Box(("root port, CXL link", ", ".join(described.link or ()))), memory]


def _box(left: float, top: float, box: Box) -> str:
    lines = [line for line in box.lines if line]
    texts = "".join(
        f'<text x="{left + WIDTH / 2}" y="{top + 20 + 16 * place}">{escape(line)}</text>'
        for place, line in enumerate(lines)
    )
    return f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" rx="4"/>{texts}'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    half = HEIGHT / 2
    return f'<line x1="{x1}" y1="{y1 + half}" x2="{x2}" y2="{y2 + half}"/>'
