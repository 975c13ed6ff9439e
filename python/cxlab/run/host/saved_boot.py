"""The state of a machine on which Linux is up: saved once for each machine, loaded by every run on it.

::

    first run on a machine:  QEMU boots (plugin: boot=save) --> stands still --> state, time: cache/boot/KEY
    every run:               QEMU -incoming state --> init reads what to run --> program

KEY is a hash of all that the state depends on: QEMU, its command line, kernel, initramfs, plugin. The first
run loads what it has saved, as all others do. A seal beside the state has its checksum (seal.py): a damaged
state is saved anew. Some machines boot in every run. QEMU 10.0 does not save a
machine with CXL devices. Nor is one saved with a disk, or with more memory than `MOST_MEMORY`:
QEMU looks at each page to save it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from cxlab.run.guest import cache
from cxlab.run.host import qemu
from cxlab.run.host import seal as seals
from cxlab.run.host.jail import Confinement
from cxlab.run.host.progress import PERIOD
from cxlab.run.host.qmp import Refused
from cxlab.run.host.saver import CONSOLE, STATE, TIME, Saver
from cxlab.run.interruption import Interruption
from cxlab.run.size import BLOCKS_OF_STAT

FOLDER = "boot"
#: Each takes about as much of the disk as Linux of memory; those unused longest go.
MOST_KEPT = 16
#: What all may take of the disk [bytes]. Of 4 GiB of memory each takes 0.14 GiB, of 64 GiB 1.1.
MOST_BYTES = 8 << 30
#: Far beyond any boot seen [s].
MOST_SECONDS = 300.0
#: Of the guest [bytes]. To save 64 GiB takes 8 s of the host's kernel, about as long as a boot.
MOST_MEMORY = 64 << 30


@dataclass(frozen=True)
class State:
    """A state that QEMU can begin with, open: what is forgotten meanwhile stays readable."""

    folder: Path
    descriptor: int
    #: the guest's [ps]
    time_ps: int

    def begins(self, command: qemu.Command) -> qemu.Command:
        """Return the command of QEMU for a guest that begins at this state."""
        assert command.plugin is not None
        return replace(command, state=self.descriptor, plugin=replace(command.plugin, boot=str(self.time_ps)))

    def forget(self) -> None:
        """QEMU cannot load it: the next run saves it anew."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> State:
        """Nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        os.close(self.descriptor)


def opened(folder: Path) -> State:
    """The state in this folder, as it was sealed.

    Raises:
        OSError, ValueError: it cannot be read, or it is damaged.

    """
    state = _opened(folder)
    try:
        seals.check(folder, state.descriptor, state.time_ps)
    except BaseException:
        os.close(state.descriptor)
        raise
    return state


def seal(folder: Path) -> None:
    """Seal the state in this folder, which has just been saved."""
    with _opened(folder) as state:
        seals.seal(folder, state.descriptor, state.time_ps)


def _opened(folder: Path) -> State:
    time_ps = int((folder / TIME).read_text())
    return State(folder, os.open(folder / STATE, os.O_RDONLY | os.O_CLOEXEC), time_ps)


class CannotSave(Exception):
    """The state of this machine cannot be saved here, and why."""


def can_save(command: qemu.Command) -> bool:
    """Whether such a machine's state is saved at all."""
    small = sum(command.node_bytes) <= MOST_MEMORY
    return small and command.plugin is not None and command.disk is None and not command.topology.windows


def ensure(
    command: qemu.Command,
    confinement: Confinement,
    interruption: Interruption,
    show_progress: Callable[[], None],
) -> State | None:
    """The state for a run with this command, saved now if it was not before; None: it has to boot.

    Raises:
        CannotSave: it should be saved, and cannot.

    """
    if not can_save(command):
        return None
    name = f"{FOLDER}/{key(command)}"

    def entry() -> Path:
        return cache.entry(
            name, lambda partial: _save(partial, command, confinement, interruption, show_progress)
        )

    try:
        folder = entry()
        try:
            state = opened(folder)
        except ValueError:
            # Damaged, or without a seal: of what can be saved anew nothing is lost.
            shutil.rmtree(folder)
            state = opened(entry())
        os.utime(folder / TIME)
        forget_old(folder.parent)
        return state
    except (OSError, ValueError, Refused) as error:
        raise CannotSave(str(error)) from None


def key(command: qemu.Command) -> str:
    """Return the key of a state: all that it depends on, without what differs in each run."""
    assert command.plugin is not None
    nobody = Path("nobody")
    plugin = replace(
        command.plugin, path=nobody, ring=0, model=0, detail="off", counters=None, control=None, settings=()
    )
    same = replace(
        command,
        ports=dict.fromkeys(command.ports, 0),
        console=nobody,
        run=nobody,
        share=nobody,
        keep=None if command.keep is None else nobody,
        plugin=replace(plugin, idle="jump"),
    )
    digest = hashlib.sha256("\0".join(same.arguments()).encode())
    digest.update(command.plugin.path.read_bytes())
    state = command.program.stat()
    # The program may be a script, which stays the same when what it starts is another.
    digest.update(f"{state.st_size} {state.st_mtime_ns} {command.version}".encode())
    return digest.hexdigest()[:32]


def _save(
    folder: Path,
    command: qemu.Command,
    confinement: Confinement,
    interruption: Interruption,
    show_progress: Callable[[], None],
) -> None:
    """Boot to where Linux is up, and write the state to ``folder``."""
    with ExitStack() as resources:
        saver = Saver(folder, command, confinement, resources, until="save")
        try:
            saver.start()
            deadline = time.monotonic() + MOST_SECONDS
            while not saver.done:
                show_progress()
                with interruption.allowed():
                    saver.serve(PERIOD)
                if time.monotonic() > deadline:
                    raise Refused(f"the machine was not saved within {MOST_SECONDS:.0f} s")
        finally:
            saver.end()
        (folder / CONSOLE).unlink()
        (folder / TIME).write_text(f"{saver.time_ps()}\n")
    seal(folder)


def forget_old(folder: Path) -> None:
    """Remove the states that were unused longest, if there are many. The newest and an open one stay."""
    known = [entry for entry in folder.iterdir() if (entry / TIME).exists()]
    newest = sorted(known, key=lambda entry: (entry / TIME).stat().st_mtime, reverse=True)
    total = 0
    for place, entry in enumerate(newest):
        total += _bytes_on_disk(entry)
        if place >= MOST_KEPT or (place > 0 and total > MOST_BYTES):
            shutil.rmtree(entry, ignore_errors=True)


def _bytes_on_disk(entry: Path) -> int:
    try:
        return (entry / STATE).stat().st_blocks * BLOCKS_OF_STAT
    except FileNotFoundError:
        return 0
