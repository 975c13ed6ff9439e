"""The state of a machine on which Linux is up: saved once for each machine, loaded by every run on it.

::

    first run on a machine:  QEMU boots (plugin: boot=save) --> stands still --> state, time: cache/boot/KEY
    every run:               QEMU -incoming state --> init reads what to run --> program

KEY is a hash of all that the state depends on: QEMU, its command line, kernel, initramfs, plugin. The first
run loads what it has saved, as all others do. What boots in every run: a machine with CXL devices, which QEMU
10.0 does not save; with a disk for swap; with more memory than `MOST_MEMORY`, which QEMU reads to save it.
"""

from __future__ import annotations

import hashlib
import os
import selectors
import shutil
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from cxlab import model
from cxlab.run.guest import cache
from cxlab.run.host import host_memory, memory_file, qemu
from cxlab.run.host.jail import Confinement
from cxlab.run.host.ports import LifePipe, Ports
from cxlab.run.host.process import Process
from cxlab.run.host.progress import PERIOD
from cxlab.run.host.qmp import Monitor, Refused
from cxlab.run.interruption import Interruption
from cxlab.run.size import MIB

FOLDER = "boot"
STATE, TIME, CONSOLE = "state", "time", "console"
#: Each takes about as much of the disk as Linux of memory; those unused longest go.
MOST_KEPT = 16
#: Far beyond any boot seen [s].
MOST_SECONDS = 300.0
#: What is read of shared memory is allocated, though nothing was ever written there [bytes].
MOST_MEMORY = 8 << 30
GIB = 1024 * MIB
#: Behind the memory in the file: what devices save, and which pages there are [bytes].
BESIDE_MEMORY = 1 << 30


@dataclass(frozen=True)
class State:
    """A state that QEMU can begin with, open: what is forgotten meanwhile stays readable."""

    folder: Path
    descriptor: int
    #: the guest's [ps]
    time_ps: int

    def begins(self, command: qemu.Command) -> qemu.Command:
        """The same command for a guest that begins here."""
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


class CannotSave(Exception):
    """The state of this machine cannot be saved here, and why."""


def can_save(command: qemu.Command) -> bool:
    """Whether such a machine's state is saved at all."""
    small = sum(command.node_bytes) <= MOST_MEMORY
    return small and command.plugin is not None and command.swap is None and not command.topology.windows


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
    try:
        folder = cache.entry(
            name, lambda partial: _save(partial, command, confinement, interruption, show_progress)
        )
        os.utime(folder / TIME)
        forget_old(folder.parent)
        time_ps = int((folder / TIME).read_text())
        return State(folder, os.open(folder / STATE, os.O_RDONLY | os.O_CLOEXEC), time_ps)
    except (OSError, Refused) as error:
        raise CannotSave(str(error)) from None


def key(command: qemu.Command) -> str:
    """What the state depends on, without what is another in each run."""
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
    wanted, left = sum(command.node_bytes), host_memory.HostMemory().available_bytes()
    if left is not None and left < wanted + host_memory.RESERVE_BYTES:
        raise Refused(
            f"that takes {wanted / GIB:.1f} GiB of this host's memory, and {left / GIB:.1f} GiB are left"
        )
    with ExitStack() as resources:
        saver = _Saver(folder, command, confinement, resources)
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
        (folder / TIME).write_text(f"{model.ring_time_ps(saver.ring)}\n")


class _Saver:
    """A QEMU that boots, saves its state and ends."""

    def __init__(
        self, folder: Path, command: qemu.Command, confinement: Confinement, resources: ExitStack
    ) -> None:
        assert command.plugin is not None
        self.room = confinement.room()
        self.done = False
        self.process: Process | None = None
        self.ring = os.memfd_create("cxlab-ring", 0)
        resources.callback(os.close, self.ring)
        os.ftruncate(self.ring, model.ring_bytes())
        model_lives = resources.enter_context(LifePipe())
        self.ports = Ports(tuple(command.ports))
        resources.callback(self.ports.close)
        ours, self.monitor_end = socket.socketpair()
        resources.callback(ours.close)
        resources.callback(self.monitor_end.close)
        self.monitor = Monitor(ours)
        self.run, self.said = (resources.enter_context(memory_file.create(name)) for name in ("run", "qemu"))
        self.state = resources.enter_context((folder / STATE).open("wb"))
        self.inherited = [
            *(end.fileno() for end in self.ports.qemu.values()),
            *(self.ring, model_lives.read_end, self.monitor_end.fileno(), self.run.fileno()),
            self.state.fileno(),
        ]
        for path in (command.kernel, command.initramfs, command.program, command.plugin.path):
            self.room.reads(path)
        console = folder / CONSOLE
        console.touch()
        keep = folder / "keep"
        keep.mkdir()
        resources.callback(shutil.rmtree, keep)
        self.command = replace(
            command,
            ports={name: end.fileno() for name, end in self.ports.qemu.items()},
            console=self.room.writes(console),
            run=self.room.reads_memory(self.run),
            share=self.room.share(),
            keep=None if command.keep is None else self.room.writes(keep),
            plugin=replace(
                command.plugin,
                ring=self.ring,
                model=model_lives.read_end,
                detail="off",
                idle="jump",
                counters=None,
                control=None,
                settings=(),
                boot="save",
            ),
            monitor=self.monitor_end.fileno(),
            save=self.state.fileno(),
        )
        self.selector = resources.enter_context(selectors.PollSelector())
        self.selector.register(ours, selectors.EVENT_READ)

    def start(self) -> None:
        """Begin to boot."""
        memory = sum(self.command.node_bytes)
        bounds = qemu.limits(self.command.node_bytes, memory + BESIDE_MEMORY)
        with open(os.devnull, "rb") as nothing:
            self.process = Process.start(
                self.command.arguments(),
                self.room,
                stdin=nothing,
                stdout=self.said,
                stderr=self.said,
                inherit=self.inherited,
                limits=bounds,
            )
        self.monitor_end.close()
        self.ports.close_qemu_ends()
        self.monitor.send("qmp_capabilities")
        capabilities = [{"capability": "events", "state": True}]
        self.monitor.send("migrate-set-capabilities", capabilities=capabilities)

    def serve(self, seconds: float) -> None:
        """Wait so long for QEMU, and do what comes next."""
        for _ in self.selector.select(seconds):
            try:
                messages = self.monitor.receive()
            except Refused as refused:
                raise Refused(f"{refused}: {memory_file.tail(self.said)}") from None
            for message in messages:
                self._heard(message)

    def _heard(self, message: dict[str, object]) -> None:
        match message:
            case {"event": "STOP"}:
                self.monitor.send("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
                self.monitor.send("migrate", uri=qemu.STATE_URI)
            case {"event": "MIGRATION", "data": {"status": "completed"}}:
                self.done = True
            case {"event": "MIGRATION", "data": {"status": "failed"}}:
                raise Refused(f"QEMU could not write the state: {memory_file.tail(self.said)}")

    def end(self) -> None:
        """Nothing of it is left."""
        if self.process is not None:
            self.process.signal(signal.SIGKILL)
            self.process.wait()


def forget_old(folder: Path) -> None:
    """Of many states those unused longest go; who has one open keeps it."""
    known = [entry for entry in folder.iterdir() if (entry / TIME).exists()]
    newest = sorted(known, key=lambda entry: (entry / TIME).stat().st_mtime, reverse=True)
    for entry in newest[MOST_KEPT:]:
        shutil.rmtree(entry, ignore_errors=True)
