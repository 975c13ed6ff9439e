"""Makes checkpoints, and has QEMU begin a run at one.

::

    make    QEMU boots (plugin: boot=checkpoint) --> program --> text --> stands still --> state, about.json
    begin   QEMU -incoming state --> init reads what the run wants --> program goes on
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from cxlab.error import MachineError
from cxlab.run.errors import CheckpointRefused, GuestInitFailed, OutputNeverCame, TimeOver
from cxlab.run.guest import artefacts, cache, checkpoint
from cxlab.run.guest import protocol as guest
from cxlab.run.guest.checkpoint import Checkpoint
from cxlab.run.host import installed_qemu, qemu, saved_boot
from cxlab.run.host.jail import Confinement
from cxlab.run.host.ports import ControlPort, OutputStream
from cxlab.run.host.progress import PERIOD, Progress
from cxlab.run.host.qmp import Refused
from cxlab.run.host.saver import CONSOLE, TIME, Saver
from cxlab.run.interruption import Interruption
from cxlab.run.request import Request
from cxlab.version import cxlab_version


def command_of(request: Request) -> qemu.Command:
    """QEMU's command without what each run has of its own."""
    nowhere = Path("nowhere")
    plugin = artefacts.built(artefacts.QEMU_PLUGIN)
    return qemu.Command(
        machine=request.machine,
        node_bytes=request.node_bytes,
        cpus=request.cpus,
        kernel=request.kernel.resolve(),
        initramfs=request.initramfs.resolve(),
        run=nowhere,
        ports=dict.fromkeys(qemu.PORTS, 0),
        console=nowhere,
        program=installed_qemu.found(),
        version=installed_qemu.version(),
        plugin=qemu.Plugin(path=plugin, ring=0, model=0, detail="off", idle="jump"),
        processor=request.effect.processor,
    )


def versions_of(request: Request) -> dict[str, str]:
    """Return the versions that a checkpoint and a run from it share, by their names in messages."""
    program = installed_qemu.found()
    plugin = hashlib.sha256(artefacts.built(artefacts.QEMU_PLUGIN).read_bytes()).hexdigest()
    state = program.stat()
    return {
        "CXLab": cxlab_version(),
        "the kernel": request.kernel.name,
        "QEMU": f"{installed_qemu.version()} ({program}, {state.st_size} B, {state.st_mtime_ns})",
        "the guest's init": request.initramfs.parent.name,
        "the plugin": plugin[:32],
    }


def refuse_large(request: Request) -> None:
    """To save a state QEMU looks at each page of the guest's memory.

    Raises:
        CheckpointRefused: that is too much.

    """
    most, has = saved_boot.MOST_MEMORY, sum(request.node_bytes)
    if has > most:
        raise CheckpointRefused(
            f"a checkpoint looks at each page of the guest's memory: {has / (1 << 30):.0f} GiB; "
            f"valid: {most >> 30} GiB at most. Give smaller nodes: --memory dram=4G,cxl=4G"
        )


def make(
    name: str, request: Request, confinement: Confinement, interruption: Interruption, progress: Progress
) -> Path:
    """Run the program to its text, and keep the machine's state: its folder.

    Raises:
        CheckpointRefused: there is one of this name, or its state cannot be written.
        OutputNeverCame: the program ended first.

    """
    if name in checkpoint.names():
        raise CheckpointRefused(
            f"there is a checkpoint {name} already. Give another name, or remove it: "
            f"cxlab checkpoint --remove {name}"
        )
    command = command_of(request)
    try:
        return cache.entry(
            checkpoint.place(name),
            lambda folder: _fill(folder, request, command, confinement, interruption, progress),
        )
    except (OSError, Refused) as error:
        raise CheckpointRefused(f"the checkpoint {name} was not made: {error}") from None
    finally:
        progress.hide()


def _fill(
    folder: Path,
    request: Request,
    command: qemu.Command,
    confinement: Confinement,
    interruption: Interruption,
    progress: Progress,
) -> None:
    _remove_leftovers(folder)
    with ExitStack() as resources:
        saver = Saver(folder, command, confinement, resources, until="checkpoint", run=_run_file(request))
        progress.enter("booting")
        guest_of = _Guest(saver, request, progress)
        try:
            saver.start()
            guest_of.await_state(interruption)
        finally:
            saver.end()
        (folder / CONSOLE).unlink()
        (folder / TIME).write_text(f"{saver.time_ps()}\n")
    assert request.bounds.begins is not None
    saved_boot.seal(folder)
    about = checkpoint.about(
        request.machine,
        request.node_bytes,
        request.cpus,
        request.program,
        request.bounds.begins.text,
        versions=versions_of(request),
        key=saved_boot.key(command),
    )
    (folder / checkpoint.ABOUT).write_text(about.written())


def _remove_leftovers(folder: Path) -> None:
    """Remove what a killed command has left of this name. The cache's lock for the name is held."""
    stem = folder.name.rpartition(".")[0]
    for left in folder.parent.glob(f"{stem}.*"):
        if left != folder and left.is_dir() and len(left.name) == len(folder.name):
            shutil.rmtree(left, ignore_errors=True)


def _run_file(request: Request) -> bytes:
    set_up = guest.SetUp(
        regions=[],
        disk=guest.Disk(),
        terminal=None,
        keep=False,
        steers=False,
        date=request.date,
        settings=request.effect.guest,
        checkpoint=True,
    )
    # A checkpoint is started many times: there is no input to go on with.
    return guest.run_file(request.program, guest.NullInput(), set_up)


class _Guest:
    """The guest whose program runs to its text: its output goes where the caller's goes."""

    def __init__(self, saver: Saver, request: Request, progress: Progress) -> None:
        self.saver = saver
        self.request = request
        self.progress = progress
        self.started = time.monotonic()
        ends = saver.ports.host
        self.control = ControlPort(ends["control"])
        self.outputs = [
            OutputStream(name, ends[name], descriptor)
            for name, descriptor in zip(("stdout", "stderr"), request.outputs, strict=True)
        ]
        saver.watch(ends["control"], self._heard)
        for output in self.outputs:
            saver.watch(output.socket, partial(self._output, output))

    def await_state(self, interruption: Interruption) -> None:
        """Until the state is written."""
        limit = self.request.timeout_seconds
        while not self.saver.done:
            self.progress.update()
            with interruption.allowed():
                self.saver.serve(PERIOD)
            if self.saver.stands and self.progress.phase != "saving":
                self.progress.enter("saving")
            if limit is not None and time.monotonic() - self.started > limit:
                raise TimeOver(
                    f"--timeout: {limit:g} s have passed, and the checkpoint is not made. {self._said()}"
                )

    def _heard(self) -> None:
        events = self.control.receive()
        if events is None:
            self.saver.unwatch(self.control.socket)
        for event in events or ():
            match event:
                case guest.Ready():
                    self.progress.enter("running")
                case guest.Failed(code, message):
                    raise GuestInitFailed(f"the guest's init: {code}: {message}")
                case guest.Exit():
                    raise self._ended(event)

    def _ended(self, event: guest.Exit) -> MachineError:
        assert self.request.bounds.begins is not None
        text = self.request.bounds.begins.text
        match event.status:
            case guest.NotStarted(step, _, message):
                how = f"could not be started ({step}: {message})"
            case guest.Signalled(number):
                how = f"was ended by signal {number}"
            case guest.ExitCode(code):
                how = f"ended with status {code}"
        return OutputNeverCame(
            f"--from-output {text!r}: the program {how} before it printed this. {self._said()}. "
            "Give a text that the program prints"
        )

    def _said(self) -> str:
        said = [f"{output.name} {output.last_line!r}" for output in self.outputs if output.received]
        return f"The program printed last: {', '.join(said)}" if said else "The program printed nothing"

    def _output(self, output: OutputStream) -> None:
        self.progress.hide()
        if not output.forward():
            self.saver.unwatch(output.socket)
        self.progress.held = any(one.mid_line for one in self.outputs)


def refuse_others(begun: Checkpoint, request: Request) -> None:
    """Compare all that QEMU's state depends on.

    Raises:
        CheckpointRefused: something is another now; it is named.

    """
    begun.refuse_others(versions_of(request))
    if saved_boot.key(command_of(replace(request, machine=begun.about.machine))) != begun.about.key:
        raise CheckpointRefused(
            f"the checkpoint {begun.name} was made with another command line of QEMU. {begun.anew()}"
        )


def state_of(begun: Checkpoint) -> saved_boot.State:
    """The state that a run from a checkpoint begins in.

    Raises:
        CheckpointRefused: it cannot be read, or it is not what was written.

    """
    try:
        return saved_boot.opened(begun.folder)
    except (OSError, ValueError) as error:
        raise CheckpointRefused(
            f"the checkpoint {begun.name} cannot be read: {error}. {begun.anew()}"
        ) from None


def start_file(begun: Checkpoint, request: Request) -> bytes:
    """Make the file that init reads after the checkpoint: what this run wants."""
    to_output = request.effect.guest.get("to_output")
    bind = None if begun.bind is None else list(begun.bind)
    return json.dumps({"bind": bind, "to_output": to_output}).encode()
