"""The messages between host and guest. The guest's side is crates/guest-init/src/protocol.rs.

The run is a file of the machine's firmware; the control port carries one JSON object a line. Paths, arguments
and environment are bytes: a JSON string where they are UTF-8, else a list of numbers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from cxlab.run.errors import BadMessage
from cxlab.run.options.placement import Placement

#: Capacity of the pipe that is the program's standard input, and so the most that can be sent ahead [bytes].
PIPE_BYTES = 64 << 10


def encode_bytes(text: str) -> str | list[int]:
    """The wire's form of a string from the operating system (``surrogateescape`` where it is not UTF-8)."""
    raw = os.fsencode(text)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return list(raw)


def decode_bytes(wire: str | list[int]) -> str:
    """The inverse of `encode_bytes`."""
    return wire if isinstance(wire, str) else os.fsdecode(bytes(wire))


@dataclass(frozen=True)
class Identity:
    """User and groups that the program runs as."""

    uid: int
    gid: int
    groups: tuple[int, ...]

    @classmethod
    def of_caller(cls) -> Identity:
        """The user who runs CXLab."""
        return cls(os.getuid(), os.getgid(), tuple(os.getgroups()))


@dataclass(frozen=True)
class FileInput:
    """Standard input is a regular file, which the guest opens itself."""

    path: str
    #: [bytes]
    offset: int


@dataclass(frozen=True)
class StreamInput:
    """Standard input comes in frames over a port."""


@dataclass(frozen=True)
class NullInput:
    """Standard input is /dev/null."""


Input = FileInput | StreamInput | NullInput


@dataclass(frozen=True)
class Program:
    """The program to run, as the guest needs it."""

    #: program and arguments
    argv: tuple[str, ...]
    #: working folder
    cwd: str
    identity: Identity
    #: the whole environment
    environment: dict[str, str]
    placement: Placement


#: Where init finds the run among the files of the machine's firmware: crates/guest-init/src/control.rs.
RUN_FILE = "opt/cxlab/run"


@dataclass(frozen=True)
class Disk:
    """Content of the guest's disk, by Linux's names of its parts."""

    #: the device for swap
    swap: str | None = None
    #: the device of a file system, and the folder where the program finds it
    files: tuple[str, str] | None = None


@dataclass(frozen=True)
class SetUp:
    """Settings of the guest before its program runs."""

    #: CXL regions to make (`cxlab.run.topology`)
    regions: list[dict[str, object]]
    disk: Disk
    #: rows and columns, if the program has a terminal
    terminal: tuple[int, int] | None
    #: written files are copied to the share `keep`
    keep: bool
    #: the program is a placement controller
    steers: bool
    #: the guest's when the run begins [s since 1970]
    date: int
    #: of options
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: the machine stands still at the text that detail would begin with
    checkpoint: bool = False


def _size(size: tuple[int, int]) -> dict[str, int]:
    rows, columns = size
    return {"rows": rows, "columns": columns}


def _mounted(device: str, at: str) -> dict[str, object]:
    return {"device": device, "at": encode_bytes(at)}


def run_file(program: Program, stdin: Input, set_up: SetUp) -> bytes:
    """Make the file that tells the guest what to run."""
    who = program.identity
    wire_input: Any
    match stdin:
        case FileInput(path, offset):
            wire_input = {"file": {"path": encode_bytes(path), "offset": offset}}
        case StreamInput():
            wire_input = "stream"
        case NullInput():
            wire_input = "null"
    run = {
        "argv": [encode_bytes(argument) for argument in program.argv],
        "cwd": encode_bytes(program.cwd),
        "uid": who.uid,
        "gid": who.gid,
        "groups": list(who.groups),
        "env": [[encode_bytes(name), encode_bytes(value)] for name, value in program.environment.items()],
        "placement": program.placement.policy,
        "stdin": wire_input,
        "keep": set_up.keep,
        "steers": set_up.steers,
        "regions": set_up.regions,
        "swap": set_up.disk.swap,
        "files": None if set_up.disk.files is None else _mounted(*set_up.disk.files),
        "terminal": None if set_up.terminal is None else _size(set_up.terminal),
        "date": set_up.date,
        "checkpoint": set_up.checkpoint,
        **set_up.settings,
    }
    return json.dumps(run).encode()


def input_line(primed: int, *, ended: bool) -> bytes:
    """The request that starts a program whose input is a stream: so much was sent [bytes], perhaps all."""
    return _line({"input": {"primed": primed, "ended": ended}})


def resize_line(size: tuple[int, int]) -> bytes:
    """The request that gives the program's terminal another size."""
    return _line({"resize": _size(size)})


def close_line(stream: str) -> bytes:
    """The request that closes ``stdout`` or ``stderr`` of the program: nobody reads it any longer."""
    return _line({"close": stream})


def stop_line() -> bytes:
    """The request that ends the program: the run has come to its bound."""
    return _line("stop")


def power_off_line() -> bytes:
    """The request that ends the machine."""
    return _line("power_off")


def _line(request: object) -> bytes:
    return json.dumps(request).encode() + b"\n"


def frame(data: bytes) -> bytes:
    """A frame of standard input; an empty one is its end."""
    return len(data).to_bytes(4, "little") + data


@dataclass(frozen=True)
class Region:
    """A CXL region that Linux committed."""

    window: int
    #: ram or pmem
    mode: str
    #: first byte [host physical address]
    base: int
    #: [bytes]
    size: int
    granularity: int
    #: serial numbers of the devices, by position
    serials: tuple[int, ...]
    #: Linux's number; None: no memory of the kernel is in it
    node: int | None
    #: name of its device; None: a pmem region without a namespace
    device: str | None


@dataclass(frozen=True)
class Ready:
    """The guest waits for its program."""

    #: kernel release
    kernel: str
    #: for each node: its number, and (start, length) of its guest-physical ranges [bytes]
    nodes: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    regions: tuple[Region, ...]


@dataclass(frozen=True)
class WrittenFile:
    """A file that the program wrote or deleted."""

    path: str
    #: file, folder, symlink, special, deleted
    kind: str
    #: [bytes]
    size: int
    #: permission bits
    mode: int
    #: why the guest could not read it, or not copy it out
    lost: str | None = None


@dataclass(frozen=True)
class ExitCode:
    """The program ended by itself."""

    code: int


@dataclass(frozen=True)
class Signalled:
    """The program was ended by a signal."""

    number: int


@dataclass(frozen=True)
class NotStarted:
    """The program could not be started."""

    #: stdin, working_folder, identity, placement, execute
    step: str
    errno: int
    message: str


Status = ExitCode | Signalled | NotStarted


@dataclass(frozen=True)
class Exit:
    """How the program ended and what it left."""

    status: Status
    #: output sent in all [bytes]
    stdout_bytes: int
    stderr_bytes: int
    files: tuple[WrittenFile, ...]
    #: the kernel's out-of-memory killer, in its own words
    oom: tuple[str, ...]
    #: what Linux's memory management did while the program ran, by the names of /proc/vmstat
    pages: dict[str, int]
    #: how long tasks waited for memory or a disk (PSI), by resource and kind [us of simulated time]
    stalls_us: dict[str, int]
    #: how long each kernel thread that reclaims, demotes or compacts had a processor [us of simulated time]
    movers_us: dict[str, int]
    #: the program came to the text or function that detail begins with, and to the one that it was ended at
    begun: bool = False
    ended: bool = False
    #: the host's request ended the program
    stopped: bool = False


@dataclass(frozen=True)
class Failed:
    """The guest's init could not go on."""

    code: str
    message: str


Event = Ready | Exit | Failed


_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Node(Struct):
    node: _Count
    ranges: tuple[tuple[_Count, _Count], ...]


class _Ready(Struct, tag="ready", tag_field="event"):
    kernel: str
    nodes: tuple[_Node, ...]
    regions: tuple[Region, ...]


class _File(Struct):
    path: str | list[Annotated[int, msgspec.Meta(ge=0, le=255)]]
    kind: str
    size: _Count
    mode: _Count
    lost: str | None


class _Moved(Struct):
    pages: dict[str, int]
    stalls_us: dict[str, int]
    movers_us: dict[str, int]


class _Status(Struct, forbid_unknown_fields=True):
    code: int | None = None
    signal: int | None = None
    not_started: NotStarted | None = None

    def read(self) -> Status:
        told: list[Status] = []
        if self.code is not None:
            told.append(ExitCode(self.code))
        if self.signal is not None:
            told.append(Signalled(self.signal))
        if self.not_started is not None:
            told.append(self.not_started)
        if len(told) != 1:
            raise ValueError(f"a status says {len(told)} ends; valid: one of code, signal, not_started")
        return told[0]


class _Exit(Struct, tag="exit", tag_field="event"):
    status: _Status
    stdout_bytes: _Count
    stderr_bytes: _Count
    files: tuple[_File, ...]
    oom: tuple[str, ...]
    moved: _Moved
    begun: bool
    ended: bool
    stopped: bool


class _Failed(Struct, tag="failed", tag_field="event"):
    code: str
    message: str


def parse_event(line: bytes) -> Event:
    """One line of the guest.

    Raises:
        BadMessage: the line is none of init's. Whoever is root in the guest can write to the port.

    """
    try:
        return _event(msgspec.json.decode(line, type=_Ready | _Exit | _Failed))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadMessage(f"the guest sent {line[:80]!r}, which is no event of its init: {error}") from None


def _event(event: _Ready | _Exit | _Failed) -> Event:
    match event:
        case _Ready(kernel, nodes, regions):
            return Ready(kernel, tuple((node.node, node.ranges) for node in nodes), regions)
        case _Failed(code, message):
            return Failed(code, message)
        case _Exit(status, stdout_bytes, stderr_bytes, files, oom, moved, begun, ended, stopped):
            written = tuple(
                WrittenFile(decode_bytes(file.path), file.kind, file.size, file.mode, file.lost)
                for file in files
            )
            return Exit(
                status.read(),
                stdout_bytes,
                stderr_bytes,
                written,
                oom,
                moved.pages,
                moved.stalls_us,
                moved.movers_us,
                begun,
                ended,
                stopped,
            )
