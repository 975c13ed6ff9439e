"""Runs a QEMU until the plugin stops its machine, has it write the machine's state, and ends it.

::

    QEMU (boot=save or boot=checkpoint) --> marker, STOP --> migrate to a file --> completed --> ended
"""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Literal

from cxlab import model
from cxlab.run.host import memory_file, qemu
from cxlab.run.host.jail import Confinement
from cxlab.run.host.ports import LifePipe, Ports
from cxlab.run.host.process import Process
from cxlab.run.host.qmp import Monitor, Refused

STATE, TIME, CONSOLE = "state", "time", "console"
#: Behind the memory in the file: what devices save, and which pages there are [bytes].
BESIDE_MEMORY = 1 << 30
#: Where it stands still: Linux is up, or the program is at its checkpoint (crates/qemu-plugin/src/boot.rs).
Until = Literal["save", "checkpoint"]


def _until_it_stands(plugin: qemu.Plugin, until: Until, ring: int, model_lives: LifePipe) -> qemu.Plugin:
    """The run's plugin without all that begins after the state is saved."""
    return replace(
        plugin,
        ring=ring,
        model=model_lives.read_end,
        detail="off",
        idle="jump",
        counters=None,
        control=None,
        settings=(),
        boot=until,
    )


class Saver:
    """A QEMU that runs to where its plugin has it stand still, saves its state and ends."""

    def __init__(
        self,
        folder: Path,
        command: qemu.Command,
        confinement: Confinement,
        resources: ExitStack,
        *,
        until: Until,
        run: bytes = b"",
    ) -> None:
        """Make what QEMU inherits; `run` is what init finds to run."""
        assert command.plugin is not None
        self.room = confinement.room()
        #: it stands still, and its state is being written
        self.stands = False
        #: the state is written
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
        self.run.write(run)
        self.run.flush()
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
            plugin=_until_it_stands(command.plugin, until, self.ring, model_lives),
            monitor=self.monitor_end.fileno(),
            save=self.state.fileno(),
        )
        self.selector = resources.enter_context(selectors.PollSelector())
        self.watch(ours, self._monitor)

    def watch(self, end: socket.socket, handler: Callable[[], None]) -> None:
        """Have something done when one of QEMU's sockets can be read."""
        self.selector.register(end, selectors.EVENT_READ, handler)

    def unwatch(self, end: socket.socket) -> None:
        """No longer: QEMU has closed it."""
        self.selector.unregister(end)

    def time_ps(self) -> int:
        """The guest's time where it stands still [ps]."""
        return model.ring_time_ps(self.ring)

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
        for key, _ in self.selector.select(seconds):
            key.data()

    def _monitor(self) -> None:
        try:
            messages = self.monitor.receive()
        except Refused as refused:
            raise Refused(f"{refused}: {memory_file.tail(self.said)}") from None
        for message in messages:
            self._heard(message)

    def _heard(self, message: dict[str, object]) -> None:
        match message:
            case {"event": "STOP"}:
                self.stands = True
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
