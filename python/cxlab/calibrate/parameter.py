"""Free parameters: named, bounded numbers of a machine's files. One can stand for several numbers at once.

a1000.root_port.bridge_latency = 10 ns .. 90 ns   one number
cxl.queues = 4 .. 64                              a read queue; write queue and marks in proportion
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cxlab.calibrate.machine_files import Leaf, MachineFiles
from cxlab.error import Code, InputError

#: Bounds where none are given: start divided and multiplied by this.
SPAN = 4.0
#: Numbers that are free together, in proportion to the first.
QUEUES = ("read_queue", "write_queue", "write_high_mark", "write_low_mark")
#: Below so many load threads a curve's peak is a core's own.
FEW_THREADS = 4
BOUNDS = re.compile(r"(?P<low>[\d.]+) ?(?P<low_unit>\D*?) ?\.\. ?(?P<high>[\d.]+) ?(?P<unit>\D*)")


@dataclass(frozen=True)
class Parameter:
    """A free number, in the unit of its first leaf."""

    name: str
    #: the first leads
    leaves: tuple[Leaf, ...]
    low: float
    high: float

    @property
    def start(self) -> float:
        """The value of the machine that the search starts from."""
        return self.leaves[0].value

    @property
    def unit(self) -> str:
        """Empty for a count."""
        return self.leaves[0].unit

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are simulated."""
        return self.leaves[0].whole

    def settled(self, value: float) -> float:
        """The value that is simulated: within the bounds, whole where only whole numbers are."""
        inside = min(max(value, self.low), self.high)
        return float(round(inside)) if self.whole else inside

    def values(self, value: float) -> dict[str, float]:
        """Values of its leaves, by name."""
        settled = self.settled(value)
        return {leaf.name: settled * leaf.value / self.start for leaf in self.leaves}

    def text(self, value: float) -> str:
        """A value with its unit."""
        number = f"{value:.0f}" if self.whole else f"{value:.4g}"
        return f"{number} {self.unit}".strip()


def choose(
    files: MachineFiles, free: Sequence[str], series: Iterable[tuple[str, int]]
) -> tuple[Parameter, ...]:
    """The free parameters: those asked for, or those that curves of these (node, threads) usually tell.

    Raises:
        InputError: an unknown name, or bounds that do not hold the start.

    """
    asked = list(free) or _usual(files, list(series))
    parameters = tuple(_parameter(files, text) for text in asked)
    seen: dict[str, str] = {}
    for parameter in parameters:
        for leaf in parameter.leaves:
            if leaf.name in seen:
                found = f"frees {leaf.name}, as {seen[leaf.name]} does"
                raise InputError(Code.UNKNOWN_PARAMETER, parameter.name, found, "each number once")
            seen[leaf.name] = parameter.name
    return parameters


def names(files: MachineFiles) -> list[str]:
    """Every name that can be free."""
    return sorted([*files.leaves, *(f"{node}.queues" for node in files.nodes if _queues(files, node))])


def _usual(files: MachineFiles, series: Sequence[tuple[str, int]]) -> list[str]:
    chosen: list[str] = []
    for node in dict.fromkeys(node for node, _ in series):
        device = files.device(node)
        if device is not None:
            chosen.append(f"{device}.root_port.bridge_latency")
        elif f"{node}.latency" in files.leaves:
            chosen.append(f"{node}.latency")
        else:
            chosen.append("host.mesh.home_to_memory")
        chosen.append(f"{node}.queues" if _queues(files, node) else f"{node}.bandwidth")
    if any(0 < threads < FEW_THREADS for _, threads in series):
        chosen.append("host.core.fill_buffers")
    return list(dict.fromkeys(chosen))


def _queues(files: MachineFiles, node: str) -> list[Leaf]:
    found = [files.leaves.get(f"{node}.controller.{queue}") for queue in QUEUES]
    return [leaf for leaf in found if leaf is not None]


def _parameter(files: MachineFiles, text: str) -> Parameter:
    name, _, bounds = (part.strip() for part in text.partition("="))
    node, _, last = name.rpartition(".")
    leaves = _queues(files, node) if last == "queues" and node in files.nodes else []
    if not leaves:
        if name not in files.leaves:
            near = [known for known in names(files) if last in known] or names(files)
            raise InputError(
                Code.UNKNOWN_PARAMETER, "--free", f"{files.start} has no number `{name}`", ", ".join(near)
            )
        leaves = [files.leaves[name]]
    lead = leaves[0]
    if lead.value <= 0:
        raise InputError(Code.BOUNDS, name, "starts at 0", "a start above 0: change it in the start's file")
    low, high = _bounds(lead, name, bounds) if bounds else (lead.value / SPAN, lead.value * SPAN)
    if lead.whole:
        low, high = max(1.0, float(round(low))), float(round(high))
    if not low < high or not low <= lead.value <= high:
        found = f"bounds {low:g}..{high:g} {lead.unit}".strip()
        raise InputError(Code.BOUNDS, name, found, f"LOW..HIGH with the start, {lead.value:g}, between them")
    return Parameter(name, tuple(leaves), low, high)


def _bounds(lead: Leaf, name: str, text: str) -> tuple[float, float]:
    found = BOUNDS.fullmatch(text)
    if found is None or found["unit"] != lead.unit or found["low_unit"] not in ("", lead.unit):
        unit = f" {lead.unit}" if lead.unit else ""
        valid = f"LOW..HIGH{unit}, as in {name}={lead.value / 2:g}..{lead.value * 2:g}{unit}"
        raise InputError(Code.BOUNDS, name, f"`{text}`", valid)
    return float(found["low"]), float(found["high"])
