"""The runs of a sweep, in order, each with its configuration and the hash that names it.

The order is that of the axes: machine, settings, placement, workload, seed. The last one changes fastest. A
configuration is resolved: it has the machine's whole description, the workload's content and the compiled
model. So a run's file is never taken for another's, and a changed model runs everything again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from cxlab import model
from cxlab.asked_machine import AskedMachine
from cxlab.bench import key_figures
from cxlab.error import Code, InputError
from cxlab.sweep import placement
from cxlab.sweep.file import Sweep
from cxlab.sweep.workload import Task, WrongValue

#: Of the files; another one makes other files.
FORMAT = 1
#: Hexadecimal digits of a run's name: 128 bits.
DIGITS = 32


@dataclass(frozen=True)
class Run:
    """One combination of the axes."""

    #: hash of the configuration: the file's name
    name: str
    machine: str
    settings: Mapping[str, str]
    placement: str
    workload: str
    seed: int
    tasks: Sequence[Task]

    def axes(self) -> dict[str, Any]:
        """Value of the run on each axis, as the rows have it."""
        return {
            "run": self.name,
            "machine": self.machine,
            "settings": dict(self.settings),
            "placement": self.placement,
            "workload": self.workload,
            "seed": self.seed,
        }

    def text(self) -> str:
        """One line with the run's value on each axis."""
        settings = "".join(f", {key}={value}" for key, value in self.settings.items())
        return f"{self.workload} on {self.machine}{settings}, {self.placement}, seed {self.seed}"


def runs_of(sweep: Sweep) -> list[Run]:
    """All runs.

    Raises:
        InputError: a machine refuses a setting, or has no such node.

    """
    identities = {name: one.identity() for name, one in sweep.workloads.items()}
    compiled = hashlib.sha256(model.file().read_bytes()).hexdigest()
    changes = [dict(zip(sweep.settings, values, strict=True)) for values in product(*sweep.settings.values())]
    runs = []
    for (asked, told), settings in product(sweep.machines.items(), changes):
        spec, nodes = _resolved(sweep, told, settings)
        for placed in sweep.placements:
            _check_nodes(sweep, asked, placed, nodes)
            for workload, seed in product(sweep.workloads, sweep.seeds):
                configuration = {
                    "format": FORMAT,
                    "model": compiled,
                    "machine": asked,
                    "resolved": spec,
                    "settings": settings,
                    "placement": placed,
                    "workload": {"name": workload, **identities[workload]},
                    "seed": seed,
                }
                text = json.dumps(configuration, sort_keys=True).encode()
                name = hashlib.sha256(text).hexdigest()[:DIGITS]
                tasks = _tasks(sweep, told, settings, placed, workload, seed)
                runs.append(Run(name, asked, settings, placed, workload, seed, tasks))
    return runs


def machines_of(sweep: Sweep) -> dict[str, Any]:
    """The resolved description of each machine, each node with what the bench measures."""
    return {asked: model.document(key_figures.described(told)) for asked, told in sweep.machines.items()}


def _tasks(
    sweep: Sweep, machine: str, settings: Mapping[str, str], placed: str, workload: str, seed: int
) -> list[Task]:
    try:
        return sweep.workloads[workload].tasks(machine, settings, placed, seed)
    except WrongValue as error:
        field = sweep.file.field("axes", error.key)
        raise InputError(Code.SWEEP, field, error.found, error.valid) from None


def _resolved(sweep: Sweep, machine: str, settings: Mapping[str, str]) -> tuple[str, list[str]]:
    """Hash of the machine's whole description, and its nodes."""
    changed = tuple(f"{key}={value}" for key, value in settings.items())
    try:
        described = model.describe(AskedMachine(machine, changed))
    except InputError as error:
        key = next((key for key in settings if key in str(error)), None)
        where = sweep.file.field("axes", "machine") if key is None else sweep.file.field("axes.set", key)
        valid = "keys and values of the machine; `cxlab machines show NAME` lists them"
        raise InputError(Code.SWEEP, where, str(error), valid) from None
    text = json.dumps(described.spec, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest(), [node.name for node in described.nodes]


def _check_nodes(sweep: Sweep, machine: str, placed: str, nodes: Sequence[str]) -> None:
    where = placement.parse(placed)
    for name, _ in () if where is None else where.shares:
        if name not in nodes:
            field = sweep.file.field("axes", "placement")
            found = f"`{placed}`: the machine {machine} has no node `{name}`"
            raise InputError(Code.SWEEP, field, found, ", ".join(nodes))
