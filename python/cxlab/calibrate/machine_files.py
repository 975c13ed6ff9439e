"""The numbers of a machine that can be fitted, and the machine file that a calibration writes.

A number has a short name: ``dram.latency`` of a node, ``a1000.root_port.bridge_latency`` of a device wherever
the machine has it, ``host.mesh.home_to_memory``. A candidate is the machine with some of them set. What a
calibration writes is a file that is based on the machine and says what differs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cxlab import model
from cxlab.asked_machine import AskedMachine, settings_of
from cxlab.error import Code, InputError, RefusedByModel
from cxlab.output import write_text

#: What may be fitted: times, rates, clocks, cycles and counts. Sizes and speed grades come in steps.
NUMBER = re.compile(r"(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?) ?(?P<unit>ps|ns|us|MB/s|GB/s|MHz|GHz|cycles?)")
#: Parts of a key that a parameter's name leaves out.
SILENT = ("memory", "coarse", "detailed")


@dataclass(frozen=True)
class Leaf:
    """A number of a machine; equal devices share it."""

    name: str
    #: as `--set` takes them
    keys: tuple[str, ...]
    value: float
    #: as the file writes it; empty for a count
    unit: str
    #: a count or cycles
    whole: bool

    def written(self, value: float) -> str:
        """The value as it stands in a file."""
        if self.whole:
            count = max(1, round(value))
            return json.dumps(f"{count} {self.unit}") if self.unit else str(count)
        # Times are whole picoseconds: no digit below them.
        return json.dumps(f"{round(value, 3)} {self.unit}") if self.unit else repr(value)


class MachineFiles:
    """A machine and its numbers."""

    def __init__(self, start: str) -> None:
        """Read ``start``: a shipped name, or a path ending in .toml.

        Raises:
            InputError: a file cannot be read, or the model refuses the machine.

        """
        try:
            entries = model.entries(start)
            described = model.describe(start)
        except RefusedByModel as error:
            raise InputError(Code.UNREADABLE, "--start", str(error), "a machine that loads") from None
        self.start = start
        #: by name, as the model has them
        self.nodes = {node.name: node for node in described.nodes}
        self._devices = {
            entry.key.split(".")[1]: json.loads(entry.value)
            for entry in entries
            if re.fullmatch(r"nodes\.[^.]+\.device\.name", entry.key)
        }
        self.leaves: dict[str, Leaf] = {}
        for entry in entries:
            self._add(entry.key, entry.value)

    def device(self, node: str) -> str | None:
        """The name of a node's device, as parameters have it."""
        return self._devices.get(node)

    def candidate(self, values: Mapping[str, float]) -> AskedMachine:
        """The machine with other values, by the name of their leaf, in its unit."""
        return AskedMachine(self.start, (*settings_of(self.start), *self._settings(values)))

    def write(
        self, out: Path, values: Mapping[str, float], sources: Mapping[str, str], about: str
    ) -> list[Path]:
        """Write the machine with other values to ``out``: a file that says what differs.

        Args:
            out: the machine's file.
            values: numbers by the name of their leaf, in its unit.
            sources: what stands as source beside each, which is also what it was fitted to.
            about: the machine's description.

        Raises:
            InputError: the file cannot be written.

        """
        start = str(self.start)
        if start.endswith(".toml"):
            start = os.path.relpath(start, out.parent)
        lines = [f"description = {json.dumps(about)}", f"based_on = {json.dumps(start)}", ""]
        lines += [_assignment(setting) for setting in settings_of(self.start)]
        fitted = []
        for name, value in values.items():
            leaf, source = self.leaves[name], json.dumps(sources[name])
            lines += [f"{key} = {{ value = {leaf.written(value)}, source = {source} }}" for key in leaf.keys]
            fitted += [f'\n[[fitted]]\nkey = "{key}"\npoint = {source}' for key in leaf.keys]
        write_text(out, "\n".join([*lines, *fitted]) + "\n")
        return [out]

    def _settings(self, values: Mapping[str, float]) -> list[str]:
        leaves = [(self.leaves[name], value) for name, value in values.items()]
        return [f"{key}={leaf.written(value)}" for leaf, value in leaves for key in leaf.keys]

    def _add(self, key: str, written: str) -> None:
        leaf = _leaf(self._name(key), key, json.loads(written) if written.startswith('"') else written)
        if leaf is None:
            return
        known = self.leaves.get(leaf.name)
        if known is not None:
            leaf = Leaf(leaf.name, (*known.keys, key), known.value, known.unit, known.whole)
        self.leaves[leaf.name] = leaf

    def _name(self, key: str) -> str:
        keys = key.split(".")
        if keys[0] != "nodes":
            return key
        node, below = keys[1], keys[2:]
        if below[0] == "device" and below[1] != "memory":
            return ".".join([self._devices[node], *below[1:]])
        return ".".join([node, *(part for part in below if part not in (*SILENT, "device"))])


def _assignment(setting: str) -> str:
    key, _, value = setting.partition("=")
    text = value.strip()
    plain = re.fullmatch(r"true|false|[\d.e+-]+|\".*\"|\[.*\]|\{.*\}", text)
    return f"{key.strip()} = {text if plain else json.dumps(text)}"


def _leaf(name: str, key: str, value: str) -> Leaf | None:
    if re.fullmatch(r"\d+", value):
        return Leaf(name, (key,), float(value), "", True)
    if re.fullmatch(r"\d*\.\d+|\d+(\.\d+)?e-?\d+", value):
        return Leaf(name, (key,), float(value), "", False)
    found = NUMBER.fullmatch(value)
    if found is None:
        return None
    unit = found["unit"]
    return Leaf(name, (key,), float(found["number"]), unit, unit.startswith("cycle"))
