"""The jail of QEMU and of the model: no capabilities, no network, no other process, no file but those given.

::

    supervisor -- bwrap, which only waits -- QEMU or the model: namespaces of processes, mounts, IPC, network
      /            the host's tree, read-only, without device files and set-user-ID
      /proc        its own process
      /dev         null and urandom
      /sys /run    empty, and so is what --hide names
      /run/share   (QEMU) the tree that the guest is to see: as /, with an empty /proc
      given paths  at their own names, read-only or writable, over all that
      Landlock     refuses once more what is not given, if the kernel has it: landlock.py

bubblewrap makes it (bwrap(1), Debian's package ``bubblewrap``). An ordinary user's jail has a user
namespace as well, where files of other users belong to ``nobody``. Root's has none, so owners stay what
they are. Root without capabilities reads what root owns, not what another user has closed to the group and
to others.

Not kept out: the CPU time that a process takes, and how much it writes where it may write.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Protocol

from cxlab.error import HostRefuses
from cxlab.run.errors import BadRequest, NoJail
from cxlab.run.host import landlock, memory_file
from cxlab.run.options.confinement import Mode

PROGRAM = "bwrap"
HOW_TO_GET = "Debian has it: sudo apt-get install bubblewrap"
#: Trees of the running host, and of the guest's own in the guest.
HOST_TREES = ("/proc", "/sys", "/dev", "/run")
DEVICES = ("/dev/null", "/dev/urandom")
#: Kernel interfaces that a host may have mounted elsewhere, in a chroot say (proc_filesystems(5)).
INTERFACES = frozenset(
    (
        *("binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs"),
        *("fusectl", "hugetlbfs", "mqueue", "proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs"),
        *("sysfs", "tracefs"),
    )
)
#: What a jail's process executes first.
WALL = Path(landlock.__file__).resolve()
#: Where QEMU finds what the guest is to see.
SHARE = Path("/run/share")
NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
#: Of a host that has no room, no memory, no descriptor or no process left.
SHORTAGES = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN)
RIGHTS = ("--cap-drop", "ALL", "--die-with-parent", "--as-pid-1", "--clearenv")


class Room(Protocol):
    """Files that one process will see. Ask for each path before `command`."""

    def reads(self, path: Path) -> Path:
        """Let the process read ``path``, if anything is there. Returns its path in the jail."""
        ...

    def reads_memory(self, file: IO[bytes]) -> Path:
        """Let the process read a file without a name, whose descriptor it inherits. Returns its path in the
        jail."""
        ...

    def writes(self, path: Path) -> Path:
        """Let the process write to ``path``, which exists. Returns its path in the jail."""
        ...

    def share(self) -> Path:
        """Let the process read the tree that the guest is to see. Returns its path in the jail."""
        ...

    def command(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], information: int
    ) -> list[str]:
        """The command that starts the process in ``folder``; its number goes to ``information``."""
        ...


@dataclass(frozen=True)
class Jail:
    """This host's bwrap, and what nobody in the jail is to see."""

    program: str
    #: an ordinary user needs a user namespace to make the others
    namespaces: tuple[str, ...]
    hidden: tuple[Path, ...] = ()

    def room(self) -> Room:
        """The room of one process."""
        return _JailRoom(self)


@dataclass(frozen=True)
class NoneAtAll:
    """There is no jail, and why; None: nobody wanted one."""

    reason: str | None

    def room(self) -> Room:
        """The process sees what its user sees."""
        return _OpenRoom()


Confinement = Jail | NoneAtAll


def find(mode: Mode, hide: Sequence[Path] = ()) -> Confinement:
    """The jail that this host offers.

    Raises:
        NoJail: ``mode`` requires a jail, or paths are to be hidden, and there is none.
        BadRequest: a path to hide is not there, or is all there is.
        HostRefuses: the host has too little left to make one.

    """
    hidden = tuple(_existing(path) for path in hide)
    try:
        if mode is Mode.OFF:
            raise NoJail("--jail off asks for none")
        program = shutil.which(PROGRAM)
        if program is None:
            raise NoJail(f"{PROGRAM} is not on PATH. {HOW_TO_GET}")
        return Jail(program, _namespaces(program), hidden)
    except NoJail as none:
        if mode is Mode.REQUIRE:
            raise
        if hidden:
            raise NoJail(f"--hide needs a jail: {none.args[0]}") from None
        return NoneAtAll(None if mode is Mode.OFF else none.args[0])


def warnings(confinement: Confinement) -> list[str]:
    """Return warnings for the user before the guest starts."""
    root = os.geteuid() == 0
    if isinstance(confinement, NoneAtAll):
        if confinement.reason is None:
            return []
        rights = "root" if root else "this user"
        return [
            f"no jail ({confinement.reason}): who breaks out of the guest has the rights of {rights}, "
            "and root in the guest reads the host's /proc, /sys, /dev and /run; --jail require refuses to "
            "run so, --jail off says that it is meant"
        ]
    if root:
        return [
            "you are root: the guest can read every file that root owns; run as an ordinary user, "
            "or take folders away with --hide DIR"
        ]
    return []


def _namespaces(program: str) -> tuple[str, ...]:
    """Find the namespaces that bwrap can make here. It tries, because kernels, containers and security
    modules all decide."""
    said = ""
    choices = [NAMESPACES] if os.geteuid() == 0 else []
    for namespaces in [*choices, ("--unshare-user", *NAMESPACES)]:
        tried = [program, *namespaces, *RIGHTS, "--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/true"]
        done = subprocess.run(tried, env={}, check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return namespaces
        said = done.stderr.strip()
        _refuse_shortage(said)
    raise NoJail(f"this host allows no namespaces: {said}")


def _refuse_shortage(said: str) -> None:
    """A host that is short of something may well allow a jail: no run begins without one for that."""
    if said.endswith(tuple(os.strerror(number) for number in SHORTAGES)):
        raise HostRefuses(
            f"the jail of QEMU and the model could not be made: {said}. Free what is short; --jail off runs "
            "without a jail"
        )


def _existing(path: Path) -> Path:
    try:
        real = path.resolve(strict=True)
    except OSError as error:
        raise BadRequest(f"--hide {path}: {error.strerror}. Name a file or folder that is there") from None
    if real == Path("/"):
        raise BadRequest(f"--hide {path}: the guest would see no file at all. Hide folders below it")
    return real


class _OpenRoom:
    """No room of its own: every path is the host's."""

    def reads(self, path: Path) -> Path:
        return path

    def reads_memory(self, file: IO[bytes]) -> Path:
        return memory_file.path(file)

    def writes(self, path: Path) -> Path:
        return path

    def share(self) -> Path:
        return Path("/")

    def command(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], information: int
    ) -> list[str]:
        return list(arguments)


@dataclass
class _JailRoom:
    jail: Jail
    _given: list[str] = field(default_factory=list)
    _writable: list[str] = field(default_factory=list)
    _shares: bool = False

    def reads(self, path: Path) -> Path:
        real = path.resolve()
        self._given += ["--ro-bind-try", str(real), str(real)]
        return real

    def reads_memory(self, file: IO[bytes]) -> Path:
        file.seek(0)
        place = Path(f"/run/cxlab/{file.fileno()}")
        self._given += ["--ro-bind-data", str(file.fileno()), str(place)]
        return place

    def writes(self, path: Path) -> Path:
        real = path.resolve()
        self._given += ["--bind", str(real), str(real)]
        self._writable.append(str(real))
        return real

    def share(self) -> Path:
        self._shares = True
        return SHARE

    def command(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], information: int
    ) -> list[str]:
        tree = [*_tree(Path("/"), self.jail.hidden), "--proc", "/proc"]
        for device in DEVICES:
            tree += ["--dev-bind", device, device]
        if self._shares:
            tree += _tree(SHARE, self.jail.hidden)
        where = (
            ["--ro-bind-try", str(folder), str(folder), "--chdir", str(folder)] if folder != Path("/") else []
        )
        self.reads(WALL)
        wall = [sys.executable, "-I", "-S", str(WALL), *self._writable, "--"]
        variables = [word for name, value in environment.items() for word in ("--setenv", name, value)]
        return [
            *(self.jail.program, *self.jail.namespaces, *RIGHTS, *variables, "--info-fd", str(information)),
            *(*tree, *where, *self._given, *_closed(tree), "--", *wall, *arguments),
        ]


def _tree(at: Path, hidden: Sequence[Path]) -> list[str]:
    """The host's tree, read-only, at ``at``, without the running host and without what is hidden."""
    view = ["--ro-bind", "/", str(at)]
    for path in [*map(Path, HOST_TREES), *_interfaces(), *hidden]:
        place = str(at / path.relative_to("/"))
        # A file that is hidden is empty: the null device without the right to open devices.
        view += ["--tmpfs", place] if path.is_dir() else ["--ro-bind", "/dev/null", place]
    return view


def _closed(tree: Sequence[str]) -> list[str]:
    """Nobody writes to file systems in memory, nor to /proc, whose sys belongs to user 0."""
    made = [place for what, place in pairwise(tree) if what in ("--tmpfs", "--proc")]
    return [word for place in made for word in ("--remount-ro", place)]


def _interfaces() -> list[Path]:
    """Find places beside the usual ones where the host has its kernel's interfaces mounted
    (proc_pid_mountinfo(5))."""
    found = []
    with open("/proc/self/mountinfo", "rb") as mounts:
        for line in mounts:
            place, kind = line.split()[4], line.partition(b" - ")[2].split()[0]
            # Blanks in names are octal escapes.
            path = place.decode("unicode_escape").encode("latin-1").decode(errors="surrogateescape")
            if kind.decode() in INTERFACES and not f"{path}/".startswith(tuple(f"{t}/" for t in HOST_TREES)):
                found.append(Path(path))
    return found
