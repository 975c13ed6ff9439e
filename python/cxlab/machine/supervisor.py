"""One run: starts QEMU and the model, passes streams and requests, ends everything whatever happens.

::

    user's 0,1,2 <--> supervisor <--sockets--> QEMU (guest: init, program)
                          |                       |  plugin
                          | job line              v
                          +----------------> model process <-- ring (memfd, inherited by both)

The two children sit in sessions of their own and die with the supervisor (PR_SET_PDEATHSIG). Ctrl-C and
SIGTERM are heard at any moment; whatever ends a run early, the model's results so far are kept and marked.
"""

from __future__ import annotations

import os
import selectors
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from cxlab.machine import (
    artefacts,
    early_end,
    guest,
    initramfs,
    memory_file,
    model_job,
    qemu,
    standard_input,
    swap,
)
from cxlab.machine.description import model
from cxlab.machine.errors import BootTimeout, GuestInitFailed, MachineError
from cxlab.machine.interruption import Interrupted, Interruption
from cxlab.machine.ports import ControlPort, InputStream, LogPort, OutputStream, Ports, drain
from cxlab.machine.process import Process
from cxlab.machine.progress import PERIOD, Progress
from cxlab.machine.raw_terminal import ESCAPE, RawTerminal
from cxlab.machine.request import Outcome, Request
from cxlab.machine.run_directory import RunDirectory

#: Far beyond any boot seen (4 s): a guest that hangs is an error, not a wait without end [s].
MOST_BOOT_SECONDS = 300.0
#: Either side ends within this when the other has gone [s].
GRACE_SECONDS = 2.0
#: After a regular end the model still works off what is in the ring [s].
MOST_DRAIN_SECONDS = 120.0


def run(request: Request, directory: RunDirectory, interruption: Interruption, progress: Progress) -> Outcome:
    """Boot, run the program, power off; errors are in the outcome."""
    with ExitStack() as resources:
        session = _Session(request, directory, interruption, progress, resources)
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


class _Session:
    """The state of one run."""

    def __init__(
        self,
        request: Request,
        directory: RunDirectory,
        interruption: Interruption,
        progress: Progress,
        resources: ExitStack,
    ) -> None:
        self.request = request
        self.directory = directory
        self.interruption = interruption
        self.progress = progress
        self.outcome = Outcome()
        self.started = time.monotonic()
        self.ran: float | None = None
        self.qemu: Process | None = None
        self.model: Process | None = None
        self.ring: int | None = None
        steers = request.steering is not None
        self.ports = Ports(qemu.STEERING_PORTS if steers else qemu.PORTS)
        resources.callback(self.ports.close)
        self.selector = resources.enter_context(selectors.PollSelector())
        self.initramfs, self.qemu_said, self.model_result, self.model_said = (
            resources.enter_context(memory_file.create(name))
            for name in ("initramfs", "qemu", "model-result", "model-stderr")
        )
        self.job = resources.enter_context(model_job.JobPipe())
        self.control = ControlPort(self.ports.host["control"])
        self.outputs = {
            name: OutputStream(name, self.ports.host[name], descriptor)
            for name, descriptor in (("stdout", 1), ("stderr", 2))
        }
        self.log: LogPort | None = None
        if request.steering is not None:
            self.log = LogPort(self.ports.host[qemu.CAPTION_LOG], request.steering)
        self.input = standard_input.classify()
        self.stream: InputStream | None = None
        self.terminal = RawTerminal() if request.terminal else None
        self.swap = None
        if request.swap_bytes is not None:
            self.swap = resources.enter_context(swap.create(directory.path, request.swap_bytes))

    # ---- start

    def start(self) -> None:
        """Start both processes; the model waits for its job."""
        plugin = self._prepare_ring()
        ends = {name: end.fileno() for name, end in self.ports.qemu.items()}
        command = qemu.Command(
            machine=self.request.machine,
            node_bytes=self.request.node_bytes,
            cpus=self.request.cpus,
            kernel=self.request.kernel,
            initramfs=self._initramfs(),
            ports=ends,
            console=self.directory.console,
            keep=self.request.keep,
            plugin=plugin,
            swap=None if self.swap is None else memory_file.path(self.swap),
            topology=self.request.topology,
            poison=self.request.poison,
        )
        files = [self.initramfs.fileno(), *([] if self.swap is None else [self.swap.fileno()])]
        ring = [] if self.ring is None else [self.ring]
        with open(os.devnull, "rb") as nothing:
            self.qemu = Process.start(
                command.arguments(),
                stdin=nothing,
                stdout=self.qemu_said,
                stderr=self.qemu_said,
                inherit=[*ends.values(), *ring, *files],
            )
        self.ports.close_qemu_ends()
        if self.request.detail != "off":
            self.model = Process.start(
                [sys.executable, "-m", "cxlab.machine.model_process", "simulate"],
                stdin=self.job.read_end,
                stdout=self.model_result,
                stderr=self.model_said,
                inherit=[*ring, *self._counters()],
            )
            self._watch(self.model.pidfd, self._model_ended)
        self._watch(self.qemu.pidfd, self._qemu_ended)
        self._watch(self.control.socket.fileno(), self._control)
        for output in self.outputs.values():
            self._watch(output.socket.fileno(), partial(self._output, output))
        if self.log is not None:
            self._watch(self.log.socket.fileno(), partial(self._log, self.log))

    def _initramfs(self) -> Path:
        """Init, and the program that it is to run."""
        request = self.request
        set_up = guest.SetUp(
            regions=request.topology.plan(),
            swap=request.swap_bytes is not None,
            scan_period_ms=request.scan_period_ms,
            terminal=None if self.terminal is None else self.terminal.size(),
            keep=request.keep is not None,
            steers=request.steering is not None,
            date=time.time(),
        )
        run = guest.run_file(request.program, self.input, set_up)
        self.initramfs.write(initramfs.with_run(request.initramfs, run))
        self.initramfs.flush()
        return memory_file.path(self.initramfs)

    def _prepare_ring(self) -> qemu.Plugin | None:
        """The plugin is loaded whenever it is there (it is the guest's clock); with detail it must be."""
        if self.request.detail == "off" and not artefacts.QEMU_PLUGIN.is_file():
            return None
        path = artefacts.built(artefacts.QEMU_PLUGIN)
        self.ring = os.memfd_create("cxlab-ring", 0)
        os.ftruncate(self.ring, model().ring_bytes())
        typed = isinstance(self.input, guest.StreamInput) and os.isatty(0)
        idle = "pace" if typed else "jump"
        counters = None if self.log is None else qemu.STEERING_PORTS.index(qemu.COUNTERS) + 1
        request = self.request
        return qemu.Plugin(
            path, self.ring, request.detail, request.skew_ps, idle, counters, request.sample, request.warm_up
        )

    def _counters(self) -> list[int]:
        """The model's end of the counters' port, if the guest has one."""
        return [] if self.log is None else [self.ports.host[qemu.COUNTERS].fileno()]

    def _watch(self, descriptor: int, handler: Callable[[], None]) -> None:
        self.selector.register(descriptor, selectors.EVENT_READ, handler)

    # ---- while it runs

    def serve(self) -> None:
        """Until the program has ended and all its output has been passed on."""
        while not self._delivered():
            if self.ran is None and time.monotonic() - self.started > MOST_BOOT_SECONDS:
                raise BootTimeout(
                    f"the guest was not ready after {MOST_BOOT_SECONDS:.0f} s; see {self.directory.console}"
                )
            self.progress.update()
            if self.terminal is not None and self.ran is not None and (size := self.terminal.resized()):
                self.control.send(guest.resize_line(size))
            self._select(PERIOD)

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
        assert self.qemu is not None
        counters = next(iter(self._counters()), None)
        return model_job.line(
            self.request, event, self.directory.path, ring=self.ring, qemu=self.qemu.pid, counters=counters
        )

    def _output(self, output: OutputStream) -> None:
        self.progress.hide()
        before = output.broken
        with self.interruption.allowed():
            more = output.forward()
        self.progress.held = any(stream.mid_line for stream in self.outputs.values())
        if not more:
            self.selector.unregister(output.socket.fileno())
        if output.broken is not None and before is None:
            self.outcome.broken_streams[output.name] = output.broken
            self.control.send(guest.close_line(output.name))

    def _log(self, log: LogPort) -> None:
        if not log.receive():
            self.selector.unregister(log.socket.fileno())

    def _qemu_ended(self) -> None:
        """Too early, whoever ended it."""
        assert self.qemu is not None
        self._drain_outputs()
        code = self.qemu.wait()
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
            if code != 0:
                code = -signal.SIGTERM if code is None else code
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
        self._drain_log()
        outcome = self.outcome
        outcome.total_seconds = time.monotonic() - self.started
        processes = [process for process in (self.qemu, self.model) if process is not None]
        outcome.host_memory_mb = sum(process.peak_kib for process in processes) * 1024 / 1e6
        if self.model is not None:
            outcome.simulated = (
                memory_file.last_json(self.model_result).get("summary")
                or self.directory.read_partial_summary()
            )
            outcome.series = (outcome.simulated or {}).pop("series", None)
            outcome.statistics = (outcome.simulated or {}).pop("statistics", None)
        self.directory.partial_summary.unlink(missing_ok=True)
        if self.request.record is not None:
            # A model that failed or was killed has not given its trace its name (crates/access/src/trace.rs).
            self.request.record.with_suffix(".unfinished").unlink(missing_ok=True)
        return outcome
