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
import selectors
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from cxlab.error import MachineError
from cxlab.run.errors import (
    BootTimeout,
    ConsoleFlood,
    GuestInitFailed,
    OutputLost,
    OutputNeverCame,
    TimeOver,
)
from cxlab.run.guest import protocol as guest
from cxlab.run.host import host_memory, qemu, standard_input
from cxlab.run.host.jail import Confinement
from cxlab.run.host.liveness import Clock, Liveness
from cxlab.run.host.ports import ControlPort, InputStream, LogPort, OutputStream, drain
from cxlab.run.host.processes import Processes
from cxlab.run.host.progress import FINISHING, PERIOD, Goal, Progress
from cxlab.run.host.raw_terminal import ESCAPE, RawTerminal
from cxlab.run.interruption import Interrupted, Interruption
from cxlab.run.request import Outcome, Request
from cxlab.run.results.run_directory import RunDirectory

#: Far beyond any boot seen (4 s): a guest that hangs is an error, not a wait without end [s].
MOST_BOOT_SECONDS = 300.0
#: The kernel's first words come within a second of QEMU's start, on a busy host within a few [s].
MOST_START_SECONDS = 120.0
#: [s]
BETWEEN_LOOKS_AT_MEMORY = PERIOD
#: A boot with all of the kernel's messages is 0.1 MiB; a guest that floods its console fills no disk [bytes].
MOST_CONSOLE_BYTES = 16 << 20


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
        #: when the host's memory is looked at next
        self.look_at_memory = self.started
        self.processes = Processes(request, directory, interruption, progress.update, resources)
        self.ports = self.processes.ports.host
        self.selector = resources.enter_context(selectors.PollSelector())
        self.control = ControlPort(self.ports["control"])
        self.outputs = {
            name: OutputStream(name, self.ports[name], descriptor)
            for name, descriptor in zip(("stdout", "stderr"), request.outputs, strict=True)
        }
        #: the program's output went nowhere, though it ran to its end
        self.lost_output: OutputLost | None = None
        self.log: LogPort | None = None
        if request.steering is not None:
            self.log = LogPort(self.ports[qemu.CAPTION_LOG], request.steering)
        self.input = guest.NullInput() if request.checkpoint is not None else standard_input.classify()
        self.stream: InputStream | None = None
        self.terminal = RawTerminal() if request.terminal else None

    # ---- start

    def start(self) -> None:
        """Start both processes; the model waits for its job."""
        terminal = None if self.terminal is None else self.terminal.size()
        started = self.processes.start_qemu(self.confinement, self.input, terminal)
        self._watch(started.pidfd, self._qemu_ended)
        if self.request.detail != "off":
            started = self.processes.start_model(self.confinement.room())
            self._watch(started.pidfd, self._model_ended)
        self.processes.have_started()
        self._watch(self.control.socket.fileno(), self._control)
        for output in self.outputs.values():
            self._watch(output.socket.fileno(), partial(self._output, output))
        if self.log is not None:
            self._watch(self.log.socket.fileno(), partial(self._log, self.log))

    def _watch(self, descriptor: int, handler: Callable[[], None]) -> None:
        self.selector.register(descriptor, selectors.EVENT_READ, handler)

    # ---- while it runs

    def serve(self) -> None:
        """Until the program has ended and all its output has been passed on."""
        while not self._delivered():
            self._check_time()
            self.progress.update()
            self._check_console()
            self._check_memory()
            if self.terminal is not None and self.ran is not None and (size := self.terminal.resized()):
                self.control.send(guest.resize_line(size))
            self._select(PERIOD)

    def _check_time(self) -> None:
        """No step takes for ever, and the run no longer than it may."""
        limit = self.request.timeout_seconds
        if limit is not None and time.monotonic() - self.started > limit:
            raise TimeOver(
                f"--timeout: the run was ended after {limit:g} s; what was simulated until then is "
                f"kept{self._awaited_output()}"
            )
        waited, console = self.liveness.clock.look(), self.directory.console
        if self.ran is None and waited > MOST_BOOT_SECONDS:
            raise BootTimeout(
                f"the guest was not ready after {MOST_BOOT_SECONDS:.0f} s. Read {console}, and run again "
                "when this host has less to do"
            )
        if self.ran is None and waited > MOST_START_SECONDS and console.stat().st_size == 0:
            raise BootTimeout(
                f"the guest's kernel said nothing within {MOST_START_SECONDS:.0f} s of QEMU's start. "
                "Run again when this host has less to do; `cxlab doctor` says what is missing here"
            )
        awaits_input = self.stream is not None and not self.stream.ended
        self.liveness.look(self.processes.named(), awaits_input=awaits_input)

    def _awaited_output(self) -> str:
        """Return a hint for a run that waits for the program's output or for a call, or nothing."""
        bounds = self.request.bounds
        timed = self.directory.read_partial_summary()
        awaited = bounds.begins if timed is None or timed.simulated_seconds == 0 else None
        awaited = awaited or bounds.ends
        return (
            "" if awaited is None else f"; {awaited.flag} {awaited.text!r} had not come. {self._last_words()}"
        )

    def _last_words(self) -> str:
        """Return the program's last output, by stream."""
        said = [f"{stream.name} {stream.last_line!r}" for stream in self.outputs.values() if stream.received]
        return f"The program printed last: {', '.join(said)}" if said else "The program printed nothing"

    def _check_console(self) -> None:
        if (size := self.directory.console.stat().st_size) > MOST_CONSOLE_BYTES:
            raise ConsoleFlood(
                f"the guest wrote {size} B to its console, {MOST_CONSOLE_BYTES} B are allowed: see "
                f"{self.directory.console}; what a program prints belongs on its standard output"
            )

    def _check_memory(self) -> None:
        """Now and then: a guest with nodes larger than this host ends before the host's memory does."""
        now = time.monotonic()
        if now >= self.look_at_memory:
            self.look_at_memory = now + BETWEEN_LOOKS_AT_MEMORY
            host_memory.check(host_memory.HostMemory().available_bytes())

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
        if self.processes.model is not None:
            self.processes.send_job(event)
        if isinstance(self.input, guest.StreamInput):
            self.stream = InputStream(self.ports["stdin"], 0, ESCAPE if self.terminal else None)
            with self.interruption.allowed():
                primed = self.stream.prime()
            self.control.send(guest.input_line(primed, ended=self.stream.ended))
        self.ran = time.monotonic()
        until_ps = self.request.bounds.until_ps
        if until_ps is not None:
            self.progress.goal = Goal("--until", simulated_seconds=until_ps / 1e12)
        self.progress.enter("running")
        if self.terminal is not None:
            self.progress.hide()
            self.progress.enabled = False
            self.terminal.enter()

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
        assert self.processes.qemu is not None
        self._drain_outputs()
        raise self.processes.why_qemu_ended(self.processes.qemu.wait())

    def _drain_outputs(self) -> None:
        """Read what reached the sockets before QEMU went. It is the program's output all the same."""
        for output in self.outputs.values():
            drain(output.socket, output.forward)
        self._drain_log()

    def _drain_log(self) -> None:
        if self.log is not None:
            drain(self.log.socket, self.log.receive)

    def _model_ended(self) -> None:
        """The model has all it needs when the program has ended, or when the run has come to its bound."""
        model = self.processes.model
        assert model is not None
        self.selector.unregister(model.pidfd)
        code = model.wait()
        if self.outcome.exit is not None:
            return
        if code != 0:
            raise self.processes.why_model_ended(code)
        if self.request.bounds.in_time:
            # A program that has ended by itself, of which the guest is about to tell, is past being stopped.
            self.control.send(guest.stop_line())

    # ---- end

    def end(self) -> None:
        """The regular end: power off, let the model finish."""
        self.progress.enter(FINISHING)
        self.control.send(guest.power_off_line())
        self.processes.end()
        self._check_awaited_output()

    def _check_awaited_output(self) -> None:
        """Raise an error if the awaited output never came, whatever the program's status."""
        bounds, event = self.request.bounds, self.outcome.exit
        if event is None or isinstance(event.status, guest.NotStarted):
            return
        for awaited, came, then in (
            (bounds.begins, event.begun, ", so it was not timed"),
            (bounds.ends, event.ended or event.stopped, ", and ran to its end"),
        ):
            if awaited is not None and not came:
                raise OutputNeverCame(
                    f"{awaited.flag} {awaited.text!r}: the program did not {awaited.does}{then}. "
                    f"{self._last_words()}. Give {awaited.valid}"
                )

    def abort(self) -> None:
        """An early end: the model gives what it has."""
        self.processes.abort()

    def kill(self) -> None:
        """Give the terminal back, and kill all processes."""
        if self.terminal is not None:
            self.terminal.leave()
        self.processes.kill()

    def finish(self) -> Outcome:
        """Return the outcome of the run."""
        outcome = self.outcome
        try:
            self._drain_log()
        except MachineError as error:
            outcome.failure = outcome.failure or error
        outcome.total_seconds = time.monotonic() - self.started
        outcome.host_memory_mb = self.processes.peak_bytes() / 1e6
        outcome.simulated = self.processes.simulated()
        self.directory.forget_partial_summary()
        outcome.failure = outcome.failure or self.lost_output
        outcome.bound = self._bound()
        outcome.notices += self.processes.notices
        self.processes.files.name(outcome)
        return outcome

    def _bound(self) -> str | None:
        """The option that ended the run ahead of its program, if one did."""
        event, bounds = self.outcome.exit, self.request.bounds
        if event is None or not (event.stopped or event.ended):
            return None
        if event.ended and bounds.ends is not None:
            return bounds.ends.flag
        simulated = self.outcome.simulated
        if bounds.until_idle_ps is None:
            return "--until"
        if bounds.until_ps is None or simulated is None:
            return "--until-idle"
        return "--until" if simulated.simulated_seconds * 1e12 >= bounds.until_ps else "--until-idle"
