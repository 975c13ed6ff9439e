"""Checkpoints of programs: the files of each, beside the machine's state.

::

    cache/checkpoints/NAME/   state         the machine, as QEMU writes it
                              time          the guest's [ps]
                              about.json    what it was made of, and a hash of the other two: `About`

A run from a checkpoint has the checkpoint's program, processors and memory. What the model alone knows may be
another: latencies, bandwidths, devices, prefetchers.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from cxlab.asked_machine import AskedMachine, settings_of
from cxlab.file_format import KEY, Format, other
from cxlab.run.errors import CheckpointRefused
from cxlab.run.guest import cache
from cxlab.run.guest.protocol import Program
from cxlab.run.machine import Machine
from cxlab.run.size import format_bytes

FOLDER = "checkpoints"
ABOUT = "about.json"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True)
class About:
    """Versions and settings that a checkpoint was made with."""

    #: what a start must have as well, by what messages call it
    versions: dict[str, str]
    #: hash of all that QEMU's state depends on
    key: str
    #: as asked for, with its settings
    asked: str
    settings: tuple[str, ...]
    #: what Linux was told of its machine
    machine: Machine
    #: size of each node [bytes]
    node_bytes: tuple[int, ...]
    cpus: int
    program: Program
    #: the text that the program had printed
    text: str

    def asked_machine(self, settings: tuple[str, ...]) -> AskedMachine:
        """The machine that it was made on, with further settings."""
        return AskedMachine(self.asked, self.settings + settings)

    def memory(self) -> str:
        """The nodes' sizes, as `--memory` has them."""
        nodes = zip(self.machine.nodes, self.node_bytes, strict=True)
        return ",".join(f"{node.name}={format_bytes(size)}" for node, size in nodes)

    def written(self) -> str:
        """Write the checkpoint's document. Of the machine's figures it has those that Linux was told."""
        machine = replace(self.machine, asked=str(self.asked), resolved={})
        document = {KEY: Format.CHECKPOINT.value, **msgspec.to_builtins(replace(self, machine=machine))}
        return json.dumps(document, indent=1) + "\n"

    @classmethod
    def read(cls, text: str) -> About:
        """The document's.

        Raises:
            ValueError: it is none.

        """
        document = json.loads(text)
        if isinstance(document, dict) and (another := other(document, Format.CHECKPOINT)) is not None:
            raise ValueError(another)
        about = msgspec.convert(document, cls)
        if not about.program.argv or not about.node_bytes or about.cpus < 1:
            raise ValueError("it names no program, no memory or no processor")
        return about


def about(
    machine: Machine,
    node_bytes: tuple[int, ...],
    cpus: int,
    program: Program,
    text: str,
    *,
    versions: dict[str, str],
    key: str,
) -> About:
    """Return the versions and settings that a checkpoint would be made with now."""
    asked, settings = str(machine.asked), tuple(settings_of(machine.asked))
    return About(versions, key, asked, settings, machine, node_bytes, cpus, program, text)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that is there."""

    name: str
    folder: Path
    about: About
    #: where the program's pages go, by Linux's numbers of the nodes; None: as they were placed
    bind: tuple[int, ...] | None = None

    def refuse_others(self, versions: dict[str, str]) -> None:
        """Compare what it was made with.

        Raises:
            CheckpointRefused: something is another version now; it is named.

        """
        for what, now in versions.items():
            then = self.about.versions.get(what)
            if then != now:
                raise CheckpointRefused(
                    f"the checkpoint {self.name} was made with {what} {then}; here is {now}. {self.anew()}"
                )

    def refuse_machine(self, machine: Machine) -> None:
        """Compare what Linux knows of its machine.

        Raises:
            CheckpointRefused: it is another one; what is another is named.

        """
        then, now = _linux_sees(self.about.machine), _linux_sees(machine)
        for what, value in now.items():
            if then[what] != value:
                raise CheckpointRefused(
                    f"the checkpoint {self.name} was made on a machine with {what} {then[what]}; the machine "
                    f"{machine.name} has {value}, and Linux has booted already. Take a machine that differs "
                    f"in timing only, or {self.anew(begin=False)}"
                )

    def refuse_option(self, flag: str, given: str, own: str) -> None:
        """Refuse an option's value that is not the checkpoint's.

        Raises:
            CheckpointRefused: always.

        """
        raise CheckpointRefused(
            f"{flag} {given}: the checkpoint {self.name} has {own}, and Linux has booted already. "
            f"Leave {flag} out, or {self.anew(begin=False)}"
        )

    def anew(self, *, begin: bool = True) -> str:
        """Advice for a checkpoint that does not fit."""
        text = f"remove it (cxlab checkpoint --remove {self.name}) and make it anew"
        return f"{text[0].upper()}{text[1:]}" if begin else text


def _linux_sees(machine: Machine) -> dict[str, Any]:
    """Return the figures that Linux was told at boot, which stay."""
    processor = machine.processor
    return {
        "the nodes": ", ".join(node.name for node in machine.nodes),
        "a time-stamp counter of": f"{machine.tsc_hz} Hz",
        "the processor": f"{processor.brand} ({processor.family}/{processor.model}/{processor.stepping})",
    }


def check_name(name: str) -> str:
    """A name that a checkpoint can have.

    Raises:
        CheckpointRefused: it is none.

    """
    if NAME.fullmatch(name) is None:
        raise CheckpointRefused(
            f"{name!r} is no name of a checkpoint; valid: up to 64 letters, digits, '_', '-' and '.', "
            "beginning with a letter or a digit, as in redis-loaded"
        )
    return name


def place(name: str) -> str:
    """Return the checkpoint's folder in the cache."""
    return f"{FOLDER}/{check_name(name)}"


def names() -> list[str]:
    """Names of all checkpoints."""
    folder = cache.folder() / FOLDER
    return sorted(path.parent.name for path in folder.glob(f"[!.]*/{ABOUT}"))


def find(name: str) -> Checkpoint:
    """The checkpoint of this name.

    Raises:
        CheckpointRefused: there is none, or it cannot be read.

    """
    folder = cache.folder() / place(name)
    try:
        return Checkpoint(name, folder, About.read((folder / ABOUT).read_text()))
    except FileNotFoundError:
        there = ", ".join(names()) or "none yet"
        raise CheckpointRefused(
            f"there is no checkpoint {name}; there are: {there}. "
            f"Make it: cxlab checkpoint {name} --from-output TEXT -- PROGRAM"
        ) from None
    except (OSError, ValueError) as error:
        raise CheckpointRefused(
            f"the checkpoint {name} cannot be read: {error}. Remove it: cxlab checkpoint --remove {name}"
        ) from None


def remove(name: str) -> None:
    """Remove a checkpoint; a run that has begun at it goes on.

    Raises:
        CheckpointRefused: there is none.

    """
    folder = cache.folder() / place(name)
    if not folder.is_dir():
        find(name)
    # Out of the way in one step: what is left of a removal that was cut short is no checkpoint.
    going = folder.with_name(f".{name}.removed")
    shutil.rmtree(going, ignore_errors=True)
    folder.rename(going)
    shutil.rmtree(going, ignore_errors=True)
