"""The two processes of a run, QEMU and the model: how they start, and how they end whatever happens.

Each sits in a jail and a session of its own, and dies with the supervisor (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from cxlab import model
from cxlab.border import RunResult
from cxlab.error import MachineError
from cxlab.run.errors import CheckpointRefused, SavedBootDamaged, Stalled
from cxlab.run.guest import artefacts
from cxlab.run.guest import protocol as guest
from cxlab.run.host import (
    answer,
    checkpointing,
    disk,
    early_end,
    installed_qemu,
    memory_file,
    model_job,
    persistent,
    qemu,
    saved_boot,
)
from cxlab.run.host.jail import Confinement, Room
from cxlab.run.host.output_files import OutputFiles
from cxlab.run.host.ports import LifePipe, Ports
from cxlab.run.host.process import Process
from cxlab.run.host.progress import PERIOD
from cxlab.run.interruption import Interruption
from cxlab.run.request import Request
from cxlab.run.results.run_directory import RunDirectory

#: Either side ends within this when the other has gone [s].
GRACE_SECONDS = 2.0
#: After a regular end the model still works off what is in the ring [s].
MOST_DRAIN_SECONDS = 120.0


class Processes:
    """QEMU, and the model where something is timed, with what they inherit."""

    def __init__(
        self,
        request: Request,
        directory: RunDirectory,
        interruption: Interruption,
        show_progress: Callable[[], None],
        resources: ExitStack,
    ) -> None:
        """Make what both inherit; neither runs yet."""
        self.request = request
        self.directory = directory
        self.interruption = interruption
        self.show_progress = show_progress
        self.resources = resources
        #: where the guest began, if it did not boot
        self.state: saved_boot.State | None = None
        #: what the user should know when the run is over
        self.notices: list[str] = []
        self.qemu: Process | None = None
        self.model: Process | None = None
        self.ring: int | None = None
        #: each of the two has the writing end of its pipe, the other one the reading end
        self.qemu_lives, self.model_lives = (resources.enter_context(LifePipe()) for _ in range(2))
        self.files = OutputFiles(request, directory, resources)
        self.ports = Ports(qemu.PORTS if request.steering is None else qemu.STEERING_PORTS)
        resources.callback(self.ports.close)
        self.run_file, self.qemu_said, self.model_result, self.model_said = (
            resources.enter_context(memory_file.create(name))
            for name in ("run", "qemu", "model-result", "model-stderr")
        )
        self.job = resources.enter_context(model_job.JobPipe())
        self.inherited: model_job.Descriptors | None = None
        self.disk: disk.Disk | None = None
        if request.disk is not None:
            self.disk = resources.enter_context(disk.Disk(directory.path, request.disk))
        self.persistent: persistent.Folder | None = None
        if (folder := request.topology.kept_in) is not None:
            made = persistent.Folder(folder, request.machine, request.topology)
            self.persistent = resources.enter_context(made)

    # ---- start

    def start_qemu(
        self, confinement: Confinement, init: guest.Input, terminal: tuple[int, int] | None
    ) -> Process:
        """Start the guest, whose program has this standard input, and this terminal if it has one."""
        room = confinement.room()
        plugin = self._prepare_ring(room, init)
        ends = {name: end.fileno() for name, end in self.ports.qemu.items()}
        request = self.request
        program = installed_qemu.found()
        command = qemu.Command(
            machine=request.machine,
            node_bytes=request.node_bytes,
            cpus=request.cpus,
            kernel=room.reads(request.kernel),
            initramfs=room.reads(request.initramfs),
            run=self._run(room, init, terminal),
            ports=ends,
            console=room.writes(self.directory.console),
            program=room.reads(program),
            version=installed_qemu.version(),
            share=room.share(),
            keep=None if request.keep is None else room.writes(request.keep),
            plugin=plugin,
            disk=None if self.disk is None else self.disk.ends,
            topology=request.topology,
            kept=self._kept(room),
            processor=request.effect.processor,
        )
        state = self._begins_at_checkpoint()
        if request.checkpoint is not None:
            # Linux has been told of that machine; the model is told of the run's own.
            command = replace(command, machine=request.checkpoint.about.machine)
        else:
            state = self._saved_boot(command, confinement)
        if state is not None:
            command = state.begins(command)
        files = [self.run_file.fileno(), *(() if self.disk is None else self.disk.ends.all())]
        if state is not None:
            files.append(state.descriptor)
        ring = [] if self.ring is None else [self.ring, self.model_lives.read_end]
        with open(os.devnull, "rb") as nothing:
            self.qemu = Process.start(
                command.arguments(),
                room,
                stdin=nothing,
                stdout=self.qemu_said,
                stderr=self.qemu_said,
                inherit=[*ends.values(), *ring, *files, self.qemu_lives.write_end],
                limits=qemu.limits(request.node_bytes, 0 if self.disk is None else self.disk.layout.size),
            )
        self.ports.close_qemu_ends()
        return self.qemu

    def _kept(self, room: Room) -> dict[str, Path]:
        """The files of persistent partitions that outlive the run."""
        files = {} if self.persistent is None else self.persistent.files
        return {name: room.writes(path) for name, path in files.items()}

    def _begins_at_checkpoint(self) -> saved_boot.State | None:
        """The state of the checkpoint, if the run begins at one."""
        begun = self.request.checkpoint
        if begun is None:
            return None
        self.state = self.resources.enter_context(checkpointing.state_of(begun))
        return self.state

    def _saved_boot(self, command: qemu.Command, confinement: Confinement) -> saved_boot.State | None:
        """Return the saved boot, unless this machine has to boot."""
        if not self.request.saved_boot:
            return None
        try:
            found = saved_boot.ensure(command, confinement, self.interruption, self.show_progress)
        except saved_boot.CannotSave as error:
            self.notices.append(f"Linux booted, because its state could not be saved: {error}")
            return None
        self.state = None if found is None else self.resources.enter_context(found)
        return self.state

    def start_model(self, room: Room) -> Process:
        """Start the model; it waits for its job."""
        self.inherited = self._model_inherits()
        room.writes(self.directory.path)
        self.model = Process.start(
            model_job.command("simulate"),
            room,
            stdin=self.job.read_end,
            stdout=self.model_result,
            stderr=self.model_said,
            inherit=[*self.inherited.all(), self.model_lives.write_end],
            folder=Path.cwd(),
            environment=model_job.environment(),
            ignored=model_job.IGNORED,
        )
        return self.model

    def have_started(self) -> None:
        """Give up the ends of pipes that are theirs."""
        self.qemu_lives.close()
        self.model_lives.close()

    def _model_inherits(self) -> model_job.Descriptors:
        assert self.ring is not None
        steers = self.request.steering is not None
        trace, timeline, profile = self.files.trace, self.files.timeline, self.files.profile
        return model_job.Descriptors(
            ring=self.ring,
            qemu=self.qemu_lives.read_end,
            counters=self.ports.host[qemu.COUNTERS].fileno() if steers else None,
            record=None if trace is None else trace.fileno(),
            timeline=None if timeline is None else timeline.fileno(),
            profile=None if profile is None else profile.fileno(),
        )

    def _run(self, room: Room, stdin: guest.Input, terminal: tuple[int, int] | None) -> Path:
        """Make init's description of the run."""
        request = self.request
        if request.checkpoint is not None:
            self.run_file.write(checkpointing.start_file(request.checkpoint, request))
            self.run_file.flush()
            return room.reads_memory(self.run_file)
        set_up = guest.SetUp(
            regions=request.topology.plan(),
            disk=guest.Disk() if self.disk is None else self.disk.layout.for_guest(),
            terminal=terminal,
            keep=request.keep is not None,
            steers=request.steering is not None,
            date=request.date,
            settings=request.effect.guest,
        )
        self.run_file.write(guest.run_file(request.program, stdin, set_up))
        self.run_file.flush()
        return room.reads_memory(self.run_file)

    def _prepare_ring(self, room: Room, stdin: guest.Input) -> qemu.Plugin | None:
        """The plugin is loaded whenever it is there (it is the guest's clock); with detail it must be."""
        request = self.request
        if request.detail == "off" and not artefacts.QEMU_PLUGIN.is_file():
            return None
        path = room.reads(artefacts.built(artefacts.QEMU_PLUGIN))
        self.ring = os.memfd_create("cxlab-ring", 0)
        os.ftruncate(self.ring, model.ring_bytes())
        typed = isinstance(stdin, guest.StreamInput) and os.isatty(0)
        steers = request.steering is not None
        return qemu.Plugin(
            path=path,
            ring=self.ring,
            model=self.model_lives.read_end,
            detail=self._detail(),
            idle="pace" if typed else "jump",
            counters=qemu.port_number(qemu.COUNTERS) if steers else None,
            control=qemu.port_number(qemu.CONTROL) if request.bounds.in_time else None,
            settings=request.effect.plugin,
        )

    def _detail(self) -> str:
        """Where the plugin begins detail: at init's word, after a text as in a run from a checkpoint."""
        detail, within = self.request.detail, self.request.bounds.begins is not None
        begun = self.request.checkpoint is not None
        return "output" if within or (begun and detail == "all") else detail

    def send_job(self, event: guest.Ready) -> None:
        """The guest is ready: the model is told of the run."""
        assert self.inherited is not None
        self.job.send(model_job.line(self.request, event, self.directory.path, self.inherited))

    # ---- end

    def why_qemu_ended(self, code: int) -> MachineError:
        """Why QEMU has ended before the program; whoever ended the model is who ended the run."""
        if code == early_end.MODEL_GONE and self.model is not None:
            self._await(self.model, GRACE_SECONDS)
            if ended := self.model.ended():
                return self.why_model_ended(ended)
        why = early_end.of_qemu(code, self.directory.console, self.qemu_said)
        if self.state is None or not early_end.could_not_load(self.qemu_said):
            return why
        if self.request.checkpoint is not None:
            begun = self.request.checkpoint
            return CheckpointRefused(
                f"the checkpoint {begun.name} could not be loaded. {begun.anew()}. {why}"
            )
        self.state.forget()
        return SavedBootDamaged(
            f"the state of Linux in {self.state.folder} could not be loaded, and was removed: run again, "
            f"and it is saved anew. {why}"
        )

    def why_model_ended(self, code: int) -> MachineError:
        """Why the model has ended with an error: its own words say."""
        return early_end.of_model(code, self.model_result, self.model_said)

    def end(self) -> None:
        """The guest has been asked to power off: let QEMU end, then let the model finish.

        Raises:
            Stalled: the model does not end.
            ModelDied: it ends with an error.

        """
        assert self.qemu is not None
        self._await(self.qemu, GRACE_SECONDS)
        if self.qemu.ended() is None:
            # Everything has been delivered: nothing is lost.
            self.qemu.signal(signal.SIGTERM)
            self._await(self.qemu, GRACE_SECONDS)
        if self.model is not None:
            self._await(self.model, MOST_DRAIN_SECONDS)
            code = self.model.ended()
            if code is None:
                raise Stalled(
                    f"the model was not ready {MOST_DRAIN_SECONDS:.0f} s after the program: it was ended. "
                    "`cxlab report-bug` packs what a maintainer needs"
                )
            if code != 0:
                raise self.why_model_ended(code)

    def abort(self) -> None:
        """An early end: QEMU first; the model then ends by itself, or is asked to, and gives what it has."""
        requests = ((self.qemu, (signal.SIGTERM, signal.SIGKILL)), (self.model, (None, signal.SIGTERM)))
        for process, steps in requests:
            for number in steps:
                if process is not None and process.ended() is None:
                    if number is not None:
                        process.signal(number)
                    self._await(process, GRACE_SECONDS / 2, interruptible=False)

    def kill(self) -> None:
        """Kill all processes, and give the ring back."""
        for process in self.running():
            process.signal(signal.SIGKILL)
            process.wait()
        if self.ring is not None:
            os.close(self.ring)
            self.ring = None

    def running(self) -> list[Process]:
        """Processes that were started."""
        return [process for process in (self.qemu, self.model) if process is not None]

    def named(self) -> dict[str, Process]:
        """Return the processes by their names in messages."""
        both = (("QEMU", self.qemu), ("the model", self.model))
        return {name: process for name, process in both if process is not None}

    def _await(self, process: Process, seconds: float, *, interruptible: bool = True) -> None:
        """Wait for an end, so long at most."""
        deadline = time.monotonic() + seconds
        with selectors.PollSelector() as selector:
            while process.ended() is None and (left := deadline - time.monotonic()) > 0:
                self.show_progress()
                if not selector.get_map():
                    selector.register(process.pidfd, selectors.EVENT_READ)
                if interruptible:
                    with self.interruption.allowed():
                        selector.select(min(left, PERIOD))
                else:
                    selector.select(min(left, PERIOD))

    # ---- results

    def simulated(self) -> RunResult | None:
        """The model's results, as far as they go; None without detail."""
        if self.model is None:
            return None
        whole = answer.of(self.model_result).summary
        return self.directory.read_partial_summary() if whole is None else model.run_result(whole)

    def peak_bytes(self) -> int:
        """Largest resident sets of both together."""
        return sum(process.peak_kib for process in self.running()) * 1024
