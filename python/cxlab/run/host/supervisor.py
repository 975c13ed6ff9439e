"""One run: starts QEMU and the model, passes streams and requests, ends everything whatever happens.

::

    user's 0,1,2 <--> supervisor <--sockets--> QEMU (guest: init, program)
                          |                       |  plugin
                          | job line              v
                          +----------------> model process <-- ring (memfd, inherited by both)

Each child sits in a jail and a session of its own, and dies with the supervisor (PR_SET_PDEATHSIG). Ctrl-C
and SIGTERM are heard at any moment. Whatever ends a run early, the model's results are kept and marked.
"""

from __future__ import annotations

import errno
import os
import selectors
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from cxlab import model
from cxlab.error import MachineError
from cxlab.run.errors import (
    BootTimeout,
    ConsoleFlood,
    GuestInitFailed,
    OutputLost,
    Stalled,
    TimeOver,
    UnusableFolder,
)
from cxlab.run.guest import artefacts, initramfs
from cxlab.run.guest import protocol as guest
from cxlab.run.host import early_end, memory_file, model_job, qemu, standard_input, swap
from cxlab.run.host.jail import Confinement, Room
from cxlab.run.host.liveness import Clock, Liveness
from cxlab.run.host.ports import ControlPort, InputStream, LifePipe, LogPort, OutputStream, Ports, drain
from cxlab.run.host.process import Process
from cxlab.run.host.progress import PERIOD, Progress
from cxlab.run.host.raw_terminal import ESCAPE, RawTerminal
from cxlab.run.interruption import Interrupted, Interruption
from cxlab.run.request import Outcome, Request
from cxlab.run.results.run_directory import RunDirectory
from cxlab.whole_file import WholeFile

#: Far beyond any boot seen (4 s): a guest that hangs is an error, not a wait without end [s].
MOST_BOOT_SECONDS = 300.0
#: The kernel's first words come within a second of QEMU's start, on a busy host within a few [s].
MOST_START_SECONDS = 120.0
#: Either side ends within this when the other has gone [s].
GRACE_SECONDS = 2.0
#: A boot with all of the kernel's messages is 0.1 MiB; a guest that floods its console fills no disk [bytes].
MOST_CONSOLE_BYTES = 16 << 20
#: After a regular end the model still works off what is in the ring [s].
MOST_DRAIN_SECONDS = 120.0


def run(
    request: Request,
    directory: RunDirectory,
    confinement: Confinement,
    interruption: Interruption,
    progress: Progress,
) -> Outcome:
    """Boot, run the program, power off; errors are in the outcome."""
    with ExitStack() as resources:
        session = _Session(request, directory, confinement, interruption, progress, resources)
        try:
            session.start()
            session.serve()
            session.end()
        except (MachineError, Interrupted) as failure:
            session.outcome.failure = failure
            session.abort()
        finally:
            progress.hide()
            # Also after a defect of our own: no process is left.
            session.kill()
        return session.finish()


def _output(option: str, path: Path | None, resources: ExitStack) -> WholeFile | None:
    """A file that the model writes; dropped unless the run is complete."""
    if path is None:
        return None
    try:
        output = WholeFile(path)
    except OSError as error:
        raise UnusableFolder(f"{option} {path}: {error.strerror}") from None
    resources.callback(output.discard)
    return output


class _Session:
    """The state of one run."""

    def __init__(
        self,
        request: Request,
        directory: RunDirectory,
        confinement: Confinement,
        interruption: Interruption,
        progress: Progress,
        resources: ExitStack,
    ) -> None:
        self.request = request
        self.directory = directory
        self.confinement = confinement
        self.interruption = interruption
        self.progress = progress
        self.outcome = Outcome()
        self.started = time.monotonic()
        self.liveness = Liveness(Clock())
        self.ran: float | None = None
        self.qemu: Process | None = None
        self.model: Process | None = None
        self.ring: int | None = None
        #: each of the two has the writing end of its pipe, the other one the reading end
        self.qemu_lives, self.model_lives = (resources.enter_context(LifePipe()) for _ in range(2))
        drawn = None if request.timeline is None else request.timeline.file
        self.trace = _output("--record", request.record, resources)
        self.timeline = _output("--timeline", drawn, resources)
        steers = request.steering is not None
        self.ports = Ports(qemu.STEERING_PORTS if steers else qemu.PORTS)
        resources.callback(self.ports.close)
        self.selector = resources.enter_context(selectors.PollSelector())
        self.initramfs, self.qemu_said, self.model_result, self.model_said = (
            resources.enter_context(memory_file.create(name))
            for name in ("initramfs", "qemu", "model-result", "model-stderr")
        )
        self.job = resources.enter_context(model_job.JobPipe())
        self.inherited: model_job.Descriptors | None = None
        self.control = ControlPort(self.ports.host["control"])
        self.outputs = {
            name: OutputStream(name, self.ports.host[name], descriptor)
            for name, descriptor in zip(("stdout", "stderr"), request.outputs, strict=True)
        }
        #: the program's output went nowhere, though it ran to its end
        self.lost_output: OutputLost | None = None
        self.log: LogPort | None = None
        if request.steering is not None:
            self.log = LogPort(self.ports.host[qemu.CAPTION_LOG], request.steering)
        self.input = standard_input.classify()
        self.stream: InputStream | None = None
        self.terminal = RawTerminal() if request.terminal else None
        self.swap: swap.Disk | None = None
        if request.swap_bytes is not None:
            self.swap = resources.enter_context(swap.Disk(directory.path, request.swap_bytes))

    # ---- start

    def start(self) -> None:
        """Start both processes; the model waits for its job."""
        self._start_qemu(self.confinement.room())
        if self.request.detail != "off":
            self._start_model(self.confinement.room())
        self.qemu_lives.close()
        self.model_lives.close()
        assert self.qemu is not None
        self._watch(self.qemu.pidfd, self._qemu_ended)
        self._watch(self.control.socket.fileno(), self._control)
        for output in self.outputs.values():
            self._watch(output.socket.fileno(), partial(self._output, output))
        if self.log is not None:
            self._watch(self.log.socket.fileno(), partial(self._log, self.log))

    def _start_qemu(self, room: Room) -> None:
        plugin = self._prepare_ring(room)
        ends = {name: end.fileno() for name, end in self.ports.qemu.items()}
        request = self.request
        program = qemu.found()
        command = qemu.Command(
            machine=request.machine,
            node_bytes=request.node_bytes,
            cpus=request.cpus,
            kernel=room.reads(request.kernel),
            initramfs=self._initramfs(room),
            ports=ends,
            console=room.writes(self.directory.console),
            program=room.reads(program),
            share=room.share(),
            keep=None if request.keep is None else room.writes(request.keep),
            plugin=plugin,
            swap=None if self.swap is None else self.swap.descriptors,
            topology=request.topology,
            processor=request.effect.processor,
        )
        files = [self.initramfs.fileno(), *(() if self.swap is None else self.swap.descriptors)]
        ring = [] if self.ring is None else [self.ring, self.model_lives.read_end]
        with open(os.devnull, "rb") as nothing:
            self.qemu = Process.start(
                command.arguments(),
                room,
                stdin=nothing,
                stdout=self.qemu_said,
                stderr=self.qemu_said,
                inherit=[*ends.values(), *ring, *files, self.qemu_lives.write_end],
                limits=qemu.limits(request.node_bytes, request.swap_bytes or 0),
            )
        self.ports.close_qemu_ends()

    def _start_model(self, room: Room) -> None:
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
        )
        self._watch(self.model.pidfd, self._model_ended)

    def _model_inherits(self) -> model_job.Descriptors:
        assert self.ring is not None
        return model_job.Descriptors(
            ring=self.ring,
            qemu=self.qemu_lives.read_end,
            counters=None if self.log is None else self.ports.host[qemu.COUNTERS].fileno(),
            record=None if self.trace is None else self.trace.fileno(),
            timeline=None if self.timeline is None else self.timeline.fileno(),
        )

    def _initramfs(self, room: Room) -> Path:
        """Init, and the program that it is to run."""
        request = self.request
        set_up = guest.SetUp(
            regions=request.topology.plan(),
            swap=request.swap_bytes is not None,
            terminal=None if self.terminal is None else self.terminal.size(),
            keep=request.keep is not None,
            steers=request.steering is not None,
            date=time.time(),
            settings=request.effect.guest,
        )
        run = guest.run_file(request.program, self.input, set_up)
        self.initramfs.write(initramfs.with_run(request.initramfs, run))
        self.initramfs.flush()
        return room.reads_memory(self.initramfs)

    def _prepare_ring(self, room: Room) -> qemu.Plugin | None:
        """The plugin is loaded whenever it is there (it is the guest's clock); with detail it must be."""
        if self.request.detail == "off" and not artefacts.QEMU_PLUGIN.is_file():
            return None
        path = room.reads(artefacts.built(artefacts.QEMU_PLUGIN))
        self.ring = os.memfd_create("cxlab-ring", 0)
        os.ftruncate(self.ring, model.ring_bytes())
        typed = isinstance(self.input, guest.StreamInput) and os.isatty(0)
        idle = "pace" if typed else "jump"
        counters = None if self.log is None else qemu.STEERING_PORTS.index(qemu.COUNTERS) + 1
        request = self.request
        return qemu.Plugin(
            path=path,
            ring=self.ring,
            model=self.model_lives.read_end,
            detail=request.detail,
            idle=idle,
            counters=counters,
            settings=request.effect.plugin,
        )

    def _watch(self, descriptor: int, handler: Callable[[], None]) -> None:
        self.selector.register(descriptor, selectors.EVENT_READ, handler)

    # ---- while it runs

    def serve(self) -> None:
        """Until the program has ended and all its output has been passed on."""
        while not self._delivered():
            self._check_time()
            self.progress.update()
            self._check_console()
            if self.terminal is not None and self.ran is not None and (size := self.terminal.resized()):
                self.control.send(guest.resize_line(size))
            self._select(PERIOD)

    def _check_time(self) -> None:
        """No step takes for ever, and the run no longer than it may."""
        limit = self.request.timeout_seconds
        if limit is not None and time.monotonic() - self.started > limit:
            raise TimeOver(
                f"--timeout: the run was ended after {limit:g} s; what was simulated until then is kept"
            )
        waited, console = self.liveness.clock.look(), self.directory.console
        if self.ran is None and waited > MOST_BOOT_SECONDS:
            raise BootTimeout(f"the guest was not ready after {MOST_BOOT_SECONDS:.0f} s; see {console}")
        if self.ran is None and waited > MOST_START_SECONDS and console.stat().st_size == 0:
            raise BootTimeout(
                f"the guest's kernel said nothing within {MOST_START_SECONDS:.0f} s of QEMU's start"
            )
        named = (("QEMU", self.qemu), ("the model", self.model))
        processes = {name: process for name, process in named if process is not None}
        awaits_input = self.stream is not None and not self.stream.ended
        self.liveness.look(processes, awaits_input=awaits_input)

    def _check_console(self) -> None:
        if (size := self.directory.console.stat().st_size) > MOST_CONSOLE_BYTES:
            raise ConsoleFlood(
                f"the guest wrote {size} B to its console, {MOST_CONSOLE_BYTES} B are allowed: see "
                f"{self.directory.console}; what a program prints belongs on its standard output"
            )

    def _delivered(self) -> bool:
        event = self.outcome.exit
        if event is None:
            return False
        wanted = {"stdout": event.stdout_bytes, "stderr": event.stderr_bytes}
        return all(output.received >= wanted[output.name] for output in self.outputs.values())

    def _select(self, seconds: float) -> None:
        if self.stream is not None:
            self._rearm_input(self.stream)
        with self.interruption.allowed():
            ready = self.selector.select(seconds)
        for key, _ in ready:
            key.data()

    def _rearm_input(self, stream: InputStream) -> None:
        """Read only when what was read is on its way: the guest's back-pressure reaches the writer."""
        for descriptor, wanted, event, handler in (
            (stream.descriptor, stream.wants_to_read, selectors.EVENT_READ, stream.read),
            (stream.socket.fileno(), stream.wants_to_send, selectors.EVENT_WRITE, stream.send),
        ):
            watched = descriptor in self.selector.get_map()
            if wanted and not watched:
                self.selector.register(descriptor, event, handler)
            elif watched and not wanted:
                self.selector.unregister(descriptor)

    def _control(self) -> None:
        events = self.control.receive()
        if events is None:
            self.selector.unregister(self.control.socket.fileno())
            return
        for event in events:
            match event:
                case guest.Ready():
                    self._ready(event)
                case guest.Exit():
                    self.outcome.exit = event
                    if self.ran is not None:
                        self.outcome.detail_seconds = time.monotonic() - self.ran
                case guest.Failed(code, message):
                    raise GuestInitFailed(f"the guest's init: {code}: {message}")

    def _ready(self, event: guest.Ready) -> None:
        self.outcome.kernel = event.kernel
        self.outcome.regions = event.regions
        self.outcome.boot_seconds = time.monotonic() - self.started
        if self.model is not None:
            self.job.send(self._job(event))
        if isinstance(self.input, guest.StreamInput):
            self.stream = InputStream(self.ports.host["stdin"], 0, ESCAPE if self.terminal else None)
            with self.interruption.allowed():
                primed = self.stream.prime()
            self.control.send(guest.input_line(primed, ended=self.stream.ended))
        self.ran = time.monotonic()
        self.progress.enter("running")
        if self.terminal is not None:
            self.progress.hide()
            self.progress.enabled = False
            self.terminal.enter()

    def _job(self, event: guest.Ready) -> bytes:
        assert self.inherited is not None
        return model_job.line(self.request, event, self.directory.path, self.inherited)

    def _output(self, output: OutputStream) -> None:
        self.progress.hide()
        before = output.broken
        with self.interruption.allowed():
            more = output.forward()
        self.progress.held = any(stream.mid_line for stream in self.outputs.values())
        if not more:
            self.selector.unregister(output.socket.fileno())
        if output.broken is not None and before is None:
            # A reader that has gone is the reader's choice.
            if output.broken.errno != errno.EPIPE:
                said = f"{output.name} of the program could not be written on: {output.broken.strerror}"
                self.lost_output = OutputLost(said)
            self.control.send(guest.close_line(output.name))

    def _log(self, log: LogPort) -> None:
        if not log.receive():
            self.selector.unregister(log.socket.fileno())

    def _qemu_ended(self) -> None:
        """Too early, whoever ended it."""
        assert self.qemu is not None
        self._drain_outputs()
        code = self.qemu.wait()
        if code == early_end.MODEL_GONE and self.model is not None:
            # Whoever ended the model is who ended the run; its own error says more.
            self._await(self.model, GRACE_SECONDS)
            if ended := self.model.ended():
                raise early_end.of_model(ended, self.model_result, self.model_said)
        raise early_end.of_qemu(code, self.directory.console, self.qemu_said)

    def _drain_outputs(self) -> None:
        """What had reached the sockets before QEMU went is the program's output all the same."""
        for output in self.outputs.values():
            drain(output.socket, output.forward)
        self._drain_log()

    def _drain_log(self) -> None:
        if self.log is not None:
            drain(self.log.socket, self.log.receive)

    def _model_ended(self) -> None:
        assert self.model is not None
        self.selector.unregister(self.model.pidfd)
        code = self.model.wait()
        # The model has all it needs when the program has ended, a little before the guest says so.
        if code != 0 and self.outcome.exit is None:
            raise early_end.of_model(code, self.model_result, self.model_said)

    # ---- end

    def end(self) -> None:
        """The regular end: power off, let the model finish."""
        self.progress.enter("finishing")
        self.control.send(guest.power_off_line())
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
                    f"the model was not ready {MOST_DRAIN_SECONDS:.0f} s after the program: it was ended"
                )
            if code != 0:
                raise early_end.of_model(code, self.model_result, self.model_said)

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
        """Nothing is left."""
        if self.terminal is not None:
            self.terminal.leave()
        for process in (self.qemu, self.model):
            if process is not None:
                process.signal(signal.SIGKILL)
                process.wait()
        if self.ring is not None:
            os.close(self.ring)
            self.ring = None

    def _await(self, process: Process, seconds: float, *, interruptible: bool = True) -> None:
        """Wait for an end, so long at most."""
        deadline = time.monotonic() + seconds
        with selectors.PollSelector() as selector:
            while process.ended() is None and (left := deadline - time.monotonic()) > 0:
                self.progress.update()
                if not selector.get_map():
                    selector.register(process.pidfd, selectors.EVENT_READ)
                if interruptible:
                    with self.interruption.allowed():
                        selector.select(min(left, PERIOD))
                else:
                    selector.select(min(left, PERIOD))

    def finish(self) -> Outcome:
        """What there is to report."""
        outcome = self.outcome
        try:
            self._drain_log()
        except MachineError as error:
            outcome.failure = outcome.failure or error
        outcome.total_seconds = time.monotonic() - self.started
        processes = [process for process in (self.qemu, self.model) if process is not None]
        outcome.host_memory_mb = sum(process.peak_kib for process in processes) * 1024 / 1e6
        if self.model is not None:
            whole = memory_file.last_json(self.model_result).get("summary")
            outcome.simulated = (
                self.directory.read_partial_summary() if whole is None else model.run_result(whole)
            )
        self.directory.partial_summary.unlink(missing_ok=True)
        outcome.failure = outcome.failure or self.lost_output
        self._name_outputs()
        return outcome

    def _name_outputs(self) -> None:
        """A trace or a timeline has its name only if the run is complete."""
        outcome = self.outcome
        for option, output in (("--record", self.trace), ("--timeline", self.timeline)):
            if output is None:
                continue
            if outcome.complete:
                try:
                    output.commit()
                except OSError as error:
                    outcome.failure = UnusableFolder(f"{option} {output.path}: {error.strerror}")
            else:
                outcome.dropped.append(
                    f"{option} {output.path}: not written, because the run is not complete"
                )
