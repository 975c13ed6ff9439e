"""The host's ends of the guest's virtio-serial ports, and the program's standard streams on them."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from cxlab.run.errors import BadMessage
from cxlab.run.guest import protocol as guest
from cxlab.run.host import qemu
from cxlab.run.interruption import Interrupted

#: One read; a multiple of what a socket buffer holds makes no sense.
CHUNK = 256 << 10
#: A line that names a hundred thousand written files has 20 MB.
MOST_LINE_BYTES = 64 << 20
#: Of a stream's end, kept for messages [bytes], and shown in them [characters].
MOST_TAIL = 1 << 10
MOST_SHOWN = 100
#: Time for which the priming of standard input waits for more [ms]. A writer that has not begun while the
#: guest booted will not begin just now.
SILENCE_MS = 10


@dataclass
class Ports:
    """Socket pairs: QEMU has one end, the supervisor the other; no file on any disk."""

    #: the guest's ports
    names: Sequence[str] = qemu.PORTS
    host: dict[str, socket.socket] = field(default_factory=dict)
    qemu: dict[str, socket.socket] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the pairs of sockets."""
        for name in self.names:
            self.host[name], self.qemu[name] = socket.socketpair()

    def close_qemu_ends(self) -> None:
        """When QEMU has inherited them: the end of QEMU is then the end of the streams."""
        for end in self.qemu.values():
            end.close()

    def close(self) -> None:
        """Close both ends of all pairs."""
        for end in (*self.host.values(), *self.qemu.values()):
            end.close()


class LifePipe:
    """A pipe that nobody writes to: its end says that the process with the writing end has ended."""

    def __init__(self) -> None:
        """Make it; one process inherits the writing end, another one the reading end."""
        self.read_end, self.write_end = os.pipe()
        self._open = True

    def close(self) -> None:
        """When both have inherited theirs: the supervisor has neither end."""
        if self._open:
            self._open = False
            os.close(self.read_end)
            os.close(self.write_end)

    def __enter__(self) -> LifePipe:
        """Closed at the end at the latest."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close both ends."""
        self.close()


@dataclass
class ControlPort:
    """Lines from the guest, lines to the guest."""

    socket: socket.socket
    _partial: bytes = b""

    def receive(self) -> list[guest.Event] | None:
        """The events that have come; None once QEMU has closed its end."""
        data = _receive(self.socket)
        if not data:
            return None
        lines, self._partial = _lines(self._partial + data)
        return [guest.parse_event(line) for line in lines]

    def send(self, line: bytes) -> None:
        """Send a request; QEMU that has gone is noticed elsewhere."""
        try:
            self.socket.sendall(line)
        except OSError:
            return


def _lines(data: bytes) -> tuple[list[bytes], bytes]:
    """Whole lines, and the rest. Raises `BadMessage` for a line without end."""
    *lines, rest = data.split(b"\n")
    if len(rest) > MOST_LINE_BYTES:
        raise BadMessage(
            f"the guest sent a line of more than {MOST_LINE_BYTES} B; root in the guest can do that"
        )
    return lines, rest


def _receive(source: socket.socket) -> bytes:
    try:
        return source.recv(CHUNK)
    except ConnectionResetError:
        return b""


@dataclass
class LogPort:
    """Lines of JSON from the guest's placement controller, each given on as it comes."""

    socket: socket.socket
    record: Callable[[bytes], None]
    _partial: bytes = b""

    def receive(self) -> bool:
        """Give on what has come; False once QEMU has closed its end."""
        data = _receive(self.socket)
        lines, self._partial = _lines(self._partial + data)
        for line in lines:
            self.record(line)
        return bool(data)


def drain(source: socket.socket, take: Callable[[], bool]) -> None:
    """``take`` what has reached the socket, and wait for nothing."""
    source.setblocking(False)
    with suppress(BlockingIOError):
        while take():
            pass


@dataclass
class OutputStream:
    """Standard output or error: from its port to the descriptor of the same meaning here, byte for byte."""

    name: str
    socket: socket.socket
    descriptor: int
    #: received from the guest [bytes]
    received: int = 0
    #: why nothing is written any longer
    broken: OSError | None = None
    #: the last byte was no end of line: a prompt, perhaps
    mid_line: bool = False
    #: the end of what was received
    tail: bytes = b""

    @property
    def last_line(self) -> str:
        """The last line that has something in it."""
        lines = self.tail.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")[-MOST_SHOWN:]

    def forward(self) -> bool:
        """Pass on what has come; False once QEMU has closed its end. Blocks while the reader does."""
        data = _receive(self.socket)
        self.received += len(data)
        self.tail = (self.tail + data)[-MOST_TAIL:]
        if data:
            self.mid_line = not data.endswith(b"\n")
        rest = memoryview(data)
        try:
            while rest and self.broken is None:
                rest = rest[os.write(self.descriptor, rest) :]
        except OSError as error:
            self.broken = error
        return bool(data)


@dataclass
class InputStream:
    """Standard input that is neither a regular file nor /dev/null: read ahead by one frame at most."""

    socket: socket.socket
    descriptor: int
    #: a byte by which the user ends the machine; None: all bytes go through
    escape: bytes | None = None
    #: nothing more comes from the descriptor
    ended: bool = False
    _outgoing: bytes = b""

    def __post_init__(self) -> None:
        """A slow guest must not hold up the other streams."""
        self.socket.setblocking(False)

    def prime(self) -> int:
        """Read what is there already, for the program to find at its start: a pipe full at most [bytes]."""
        ready = select.poll()
        ready.register(self.descriptor, select.POLLIN)
        primed = 0
        while not self.ended and primed < guest.PIPE_BYTES and ready.poll(SILENCE_MS):
            primed += self._read(guest.PIPE_BYTES - primed)
        return primed

    @property
    def wants_to_read(self) -> bool:
        """Everything read has been sent."""
        return not self.ended and not self._outgoing

    @property
    def wants_to_send(self) -> bool:
        """Something read has not been sent."""
        return bool(self._outgoing)

    def read(self) -> None:
        """Read a frame; the descriptor is ready."""
        self._read(guest.PIPE_BYTES)

    def _read(self, most: int) -> int:
        try:
            data = os.read(self.descriptor, most)
        except OSError:
            data = b""
        if self.escape is not None and self.escape in data:
            raise Interrupted(signal.SIGINT)
        self.ended = not data
        self._outgoing += guest.frame(data)
        return len(data)

    def send(self) -> None:
        """Send what the socket takes."""
        try:
            self._outgoing = self._outgoing[self.socket.send(self._outgoing) :]
        except BlockingIOError:
            return
        except OSError:
            self.ended, self._outgoing = True, b""
