"""Ranks what waits most, by function, by data, and by stack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cxlab.top.names import Frame, Names
from cxlab.top.profile import Entry


@dataclass
class Waits:
    """Lines that came for loads, and their cost."""

    lines: int = 0
    latency_ps: int = 0
    stall_ps: int = 0

    def add(self, entry: Entry) -> None:
        """Count an entry."""
        self.lines += entry.lines
        self.latency_ps += entry.latency_ps
        self.stall_ps += entry.stall_ps

    @property
    def mean_latency_ns(self) -> float | None:
        """Mean latency of a line; None if none came."""
        return self.latency_ps / self.lines / 1000 if self.lines else None


def total(entries: Iterable[Entry]) -> Waits:
    """Sum of the waits of all entries."""
    waits = Waits()
    for entry in entries:
        waits.add(entry)
    return waits


def _ranked(entries: Iterable[Entry], key: Callable[[Entry], str]) -> list[tuple[str, Waits]]:
    found: dict[str, Waits] = defaultdict(Waits)
    for entry in entries:
        found[key(entry)].add(entry)
    return sorted(found.items(), key=lambda one: (-one[1].stall_ps, -one[1].lines, one[0]))


def functions(names: Names, entries: Sequence[Entry]) -> list[tuple[str, Waits]]:
    """Waits by function and file, with the line that waits most."""
    at: dict[tuple[Frame, int], int] = defaultdict(int)
    for entry in entries:
        at[names.frame(entry.instruction), entry.instruction] += entry.stall_ps
    longest: dict[Frame, int] = {}
    for (frame, instruction), _ in sorted(at.items(), key=lambda one: one[1]):
        longest[frame] = instruction
    names.find_lines(longest.values())

    def of(entry: Entry) -> str:
        frame = names.frame(entry.instruction)
        line = names.lines.get(longest[frame])
        where = ", ".join(part for part in (frame.object, line) if part)
        return f"{frame.name} ({where})" if where else frame.name

    return _ranked(entries, of)


def data(names: Names, entries: Sequence[Entry]) -> list[tuple[str, Waits]]:
    """Waits by variable or allocation."""
    return _ranked(entries, lambda entry: names.data(entry.address))


def stacks(names: Names, entries: Sequence[Entry]) -> list[tuple[tuple[str, ...], Waits]]:
    """Waits by stack: the functions from the outermost on, and the data last."""
    found: dict[tuple[str, ...], Waits] = defaultdict(Waits)
    for entry in entries:
        frames = [frame.name for frame in names.stack(entry.context, entry.instruction)]
        found[*frames, f"data: {names.data(entry.address)}"].add(entry)
    return sorted(found.items(), key=lambda one: one[0])
