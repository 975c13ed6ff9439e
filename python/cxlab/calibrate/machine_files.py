"""The files of a machine as they are written: its own, its host's, its devices'.

    machine.toml --host--> host.toml            leaves: every sourced number of them, by name
                 --device--> device.toml        host.mesh.home_to_memory, a1000.root_port.bridge_latency

A candidate is the same files with some numbers changed; what is not changed is named as before. Comments and
sources of the other parameters stay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from cxlab.calibrate.error import CalibrationError, Code
from cxlab.machine import description

MACHINE = "machine"
HOST = "host"
#: What may be fitted: times, rates, clocks, cycles and counts. Sizes and speed grades come in steps.
NUMBER = re.compile(r"(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?) ?(?P<unit>ps|ns|us|MB/s|GB/s|MHz|GHz|cycles?)")
#: Parts of a node's path that its parameters' names leave out.
SILENT = ("path", "dram", "cxl", "memory", "coarse", "detailed")


@dataclass(frozen=True)
class Leaf:
    """A number of a file."""

    name: str
    #: MACHINE, HOST or a device's name
    file: str
    path: tuple[str | int, ...]
    value: float
    #: as the file writes it; empty for a count
    unit: str
    #: a count or cycles
    whole: bool

    def written(self, value: float) -> str | int | float:
        """The value as it stands in the file."""
        if self.whole:
            count = max(1, round(value))
            return f"{count} {self.unit}" if self.unit else count
        # Times are whole picoseconds: no digit below them.
        return f"{round(value, 3)} {self.unit}" if self.unit else value


@dataclass(frozen=True)
class _File:
    #: as the machine names it: a shipped name, or a path
    named: str
    document: tomlkit.TOMLDocument
    #: of a file of the user's
    path: Path | None


class MachineFiles:
    """A machine and all that it names."""

    def __init__(self, start: str) -> None:
        """Read ``start``, a shipped name or a path ending in .toml.

        Raises:
            CalibrationError: a file cannot be read, or the model refuses the machine.

        """
        model = description.model()
        try:
            model.load_machine(start)
        except model.CxlabError as error:
            raise CalibrationError(Code.UNREADABLE, "--start", str(error), "a machine that loads") from None
        self.start = start
        machine = _read("machines", start, None)
        beside = machine.path.parent if machine.path else None
        self._files = {MACHINE: machine, HOST: _read("hosts", str(machine.document["host"]), beside)}
        #: a device's name in its own file, which stays, by what the machine calls it
        self._devices: dict[str, str] = {}
        for device in _devices(machine.document):
            named = str(device["value"])
            file = _read("devices", named, beside)
            own = str(file.document["name"])
            taken = own in self._devices.values() and named not in self._devices
            self._devices[named] = Path(named).stem if taken else own
            self._files[self._devices[named]] = file
        self.leaves = {leaf.name: leaf for key in self._files for leaf in self._leaves_of(key)}

    @property
    def nodes(self) -> dict[str, dict[str, Any]]:
        """Nodes by name, as the file has them."""
        return {node["name"]: node for node in self._files[MACHINE].document.unwrap()["nodes"]}

    def device(self, node: str) -> str | None:
        """The name of a node's device, as parameters have it."""
        cxl = self.nodes[node]["path"].get("cxl")
        return self._devices[cxl["device"]["value"]] if cxl else None

    def write(
        self, out: Path, values: Mapping[str, float], sources: Mapping[str, str], about: str
    ) -> list[Path]:
        """Write the machine to ``out`` with other values, beside it host and devices that have changed.

        Args:
            out: the machine's file; what it names stands beside it as ``STEM.NAME.toml``.
            values: numbers by the name of their leaf, in its unit.
            sources: what stands as source beside each.
            about: the machine's description.

        Raises:
            CalibrationError: a file cannot be written.

        """
        changed = {self.leaves[name].file for name in values}
        for name, value in values.items():
            leaf = self.leaves[name]
            item = _item(self._files[leaf.file].document, leaf.path)
            item["value"], item["source"] = leaf.written(value), sources[name]
        places = {key: out.with_name(f"{out.stem}.{key}.toml") for key in changed - {MACHINE}} | {
            MACHINE: out
        }
        text = {key: self._files[key].document.as_string() for key in places if key != MACHINE}
        text[MACHINE] = self._machine_text(out, places, about)
        for key, place in places.items():
            _write_whole(place, text[key])
        return list(places.values())

    def _machine_text(self, out: Path, places: Mapping[str, Path], about: str) -> str:
        machine = tomlkit.parse(self._files[MACHINE].document.as_string())
        machine["name"], machine["description"] = out.stem, about
        machine["host"] = self._reference(HOST, out, places)
        for device in _devices(machine):
            device["value"] = self._reference(self._devices[str(device["value"])], out, places)
        return machine.as_string()

    def _reference(self, key: str, out: Path, places: Mapping[str, Path]) -> str:
        if key in places:
            return places[key].name
        file = self._files[key]
        return file.named if file.path is None else os.path.relpath(file.path, out.parent)

    def _leaves_of(self, key: str) -> list[Leaf]:
        document = self._files[key].document.unwrap()
        if key != MACHINE:
            return _leaves(key, key, (), document)
        found = [
            leaf
            for part in document
            if part != "nodes"
            for leaf in _leaves(part, key, (part,), document[part])
        ]
        for number, node in enumerate(document["nodes"]):
            found += _leaves(node["name"], key, ("nodes", number), node)
        return found


def _leaves(name: str, file: str, path: tuple[str | int, ...], tree: object) -> list[Leaf]:
    if not isinstance(tree, dict):
        return []
    if tree.keys() == {"value", "source"}:
        leaf = _leaf(name, file, path, tree["value"])
        return [leaf] if leaf else []
    in_node = path[:1] == ("nodes",)
    found: list[Leaf] = []
    for key, part in tree.items():
        silent = in_node and key in SILENT
        found += _leaves(name if silent else f"{name}.{key}", file, (*path, key), part)
    return found


def _leaf(name: str, file: str, path: tuple[str | int, ...], value: object) -> Leaf | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return Leaf(name, file, path, float(value), "", isinstance(value, int))
    found = NUMBER.fullmatch(str(value))
    if found is None:
        return None
    unit = found["unit"]
    return Leaf(name, file, path, float(found["number"]), unit, unit.startswith("cycle"))


def _devices(machine: Mapping[str, Any]) -> list[Any]:
    """The ``device`` item of every CXL node."""
    paths = [node["path"].get("cxl") for node in machine["nodes"]]
    return [cxl["device"] for cxl in paths if cxl is not None]


def _item(document: tomlkit.TOMLDocument, path: tuple[str | int, ...]) -> Table:
    item: Any = document
    for key in path:
        item = item[key]
    table: Table = item
    return table


def _read(folder: str, named: str, beside: Path | None) -> _File:
    path = None
    if named.endswith(".toml"):
        path = (beside / named if beside else Path(named)).resolve()
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise CalibrationError(Code.UNREADABLE, str(path), str(error), "a TOML file") from None
    else:
        shipped = description.model().shipped_file(f"{folder}/{named}.toml")
        assert shipped is not None, "the model has loaded it"
        text = shipped
    try:
        return _File(named, tomlkit.parse(text), path)
    except TOMLKitError as error:
        raise CalibrationError(Code.UNREADABLE, named, str(error), "TOML") from None


def _write_whole(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_text(text)
        os.replace(unfinished, path)
    except OSError as error:
        found = error.strerror or str(error)
        raise CalibrationError(
            Code.UNWRITABLE, str(path), found, "a path in a folder that is there"
        ) from None
