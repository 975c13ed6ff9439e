"""The guest's disk: a file without a name in the run's folder, which grows with what is written.

::

    one of both     | swap or files                                   |   /dev/vda
    swap and files  | MBR ... 1 MiB | swap            | files         |   /dev/vda1, /dev/vda2

QEMU's device is `vhost-user-blk`. The plugin is the other end of its socket, serves what the guest asks
for, and answers when the machine's drive has done it: crates/qemu-plugin/src/disk.rs. Sources: Linux,
include/linux/swap.h (union swap_header), version 1, as mkswap(8) writes it; UEFI 2.10, 5.2.1 (legacy master
boot record); mke2fs(8).
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cxlab.run.errors import BadRequest
from cxlab.run.guest import protocol as guest
from cxlab.run.options.disk import Content, Files
from cxlab.run.size import MIB, format_bytes

#: Linux's name of the disk.
DISK = "/dev/vda"
PAGE = 4096
SECTOR = 512
#: Behind the 1024 bytes that belong to a boot loader.
HEADER_AT = 1024
SIGNATURE = b"SWAPSPACE2"
#: Where fdisk(8) begins the first partition, and a multiple of which each one has [bytes].
ALIGNMENT = MIB
#: Kinds of a partition: Linux swap, Linux.
SWAP_KIND, FILES_KIND = 0x82, 0x83
#: Where in its sector the table of four partitions is, and its last two bytes.
TABLE_AT, TABLE_END = 446, b"\x55\xaa"
#: Cylinder, head and sector of what lies beyond them.
BEYOND = b"\xfe\xff\xff"
MKE2FS = "mke2fs"
#: So that a run repeats: the names of file system and hash tree, and the time when it was made.
UUID = "c71ab000-0000-4000-8000-000000000001"
MADE_AT = "1700000000"


@dataclass(frozen=True)
class Ends:
    """Descriptors of a disk, all of which QEMU inherits."""

    #: the socket's end of QEMU's device
    device: int
    #: its other end, the plugin's
    plugin: int
    #: the file with the data
    file: int

    def all(self) -> tuple[int, int, int]:
        """All three file descriptors."""
        return (self.device, self.plugin, self.file)


@dataclass(frozen=True)
class Part:
    """A part of the disk."""

    #: Linux's name of it
    device: str
    #: [bytes]
    begin: int
    size: int
    #: of the table of partitions
    kind: int


@dataclass(frozen=True)
class Layout:
    """Where on the disk what is."""

    swap: Part | None
    #: where the file system is, and what it has
    files: tuple[Part, Files] | None

    @classmethod
    def of(cls, content: Content) -> Layout:
        """The whole disk for one of the two, partitions for both."""
        swap, files = content.swap_bytes, content.files
        if files is None:
            return cls(None if swap is None else Part(DISK, 0, swap, SWAP_KIND), None)
        if swap is None:
            return cls(None, (Part(DISK, 0, files.size, FILES_KIND), files))
        behind = ALIGNMENT + -(-swap // ALIGNMENT) * ALIGNMENT
        first = Part(f"{DISK}1", ALIGNMENT, swap, SWAP_KIND)
        return cls(first, (Part(f"{DISK}2", behind, files.size, FILES_KIND), files))

    def parts(self) -> list[Part]:
        """Those that there are, in order."""
        return [part for part in (self.swap, self.files and self.files[0]) if part is not None]

    def for_guest(self) -> guest.Disk:
        """Tell init where on the disk it finds what."""
        swap = None if self.swap is None else self.swap.device
        files = None if self.files is None else (self.files[0].device, self.files[1].at)
        return guest.Disk(swap, files)

    @property
    def size(self) -> int:
        """Size of the disk [bytes]."""
        return max(part.begin + part.size for part in self.parts())

    def table(self) -> bytes | None:
        """The first sector; None: there are no partitions."""
        if self.swap is None or self.files is None:
            return None
        entries = b"".join(
            bytes([0])
            + BEYOND
            + bytes([part.kind])
            + BEYOND
            + struct.pack("<II", part.begin // SECTOR, part.size // SECTOR)
            for part in self.parts()
        )
        return bytes(TABLE_AT) + entries.ljust(64, b"\0") + TABLE_END


class Disk:
    """A disk with swap or a file system or both; it is gone when it is closed."""

    def __init__(self, folder: Path, content: Content) -> None:
        """Make the disk in ``folder``.

        Raises:
            BadRequest: no file system can be made.

        """
        self.layout = layout = Layout.of(content)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # closed by `__exit__`
        try:
            self._file.truncate(layout.size)
            self._write(0, layout.table() or b"")
            if layout.swap is not None:
                self._make_swap(layout.swap)
            if layout.files is not None:
                _make_files(self._file.fileno(), *layout.files)
        except BaseException:
            self._file.close()
            raise
        self._device, self._plugin = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.ends = Ends(self._device.fileno(), self._plugin.fileno(), self._file.fileno())

    def _write(self, at: int, data: bytes) -> None:
        os.pwrite(self._file.fileno(), data, at)

    def _make_swap(self, part: Part) -> None:
        version, last_page, bad_pages = 1, part.size // PAGE - 1, 0
        self._write(part.begin + HEADER_AT, struct.pack("<III", version, last_page, bad_pages))
        self._write(part.begin + PAGE - len(SIGNATURE), SIGNATURE)

    def __enter__(self) -> Disk:
        """Nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Drop the disk."""
        self._device.close()
        self._plugin.close()
        self._file.close()


def _make_files(descriptor: int, part: Part, files: Files) -> None:
    """Make an ext4 whose root is the caller's, with a copy of the folder that was asked for."""
    program = shutil.which(MKE2FS, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise BadRequest(f"--disk needs {MKE2FS}, which makes file systems: sudo apt-get install e2fsprogs")
    extended = {
        "offset": part.begin,
        "root_owner": f"{os.getuid()}:{os.getgid()}",
        "hash_seed": UUID,
        # Nothing is left for Linux to do in the background of a run.
        "lazy_itable_init": 0,
        "lazy_journal_init": 0,
    }
    options = ["-E", ",".join(f"{name}={value}" for name, value in extended.items())]
    if files.source is not None:
        options += ["-d", str(files.source)]
    target = (f"/proc/self/fd/{descriptor}", str(part.size // PAGE))
    done = subprocess.run(
        [program, "-q", "-F", "-t", "ext4", "-b", str(PAGE), "-U", UUID, *options, *target],
        check=False,
        capture_output=True,
        text=True,
        pass_fds=(descriptor,),
        stdin=subprocess.DEVNULL,
        env=os.environ | {"E2FSPROGS_FAKE_TIME": MADE_AT},
    )
    if done.returncode != 0:
        what = f"--disk {format_bytes(files.size)}"
        if files.source is not None:
            what += f" --disk-from {files.source}"
        said = " ".join((done.stderr.strip() or f"exit status {done.returncode}").split())
        raise BadRequest(f"{what}: {MKE2FS} cannot make the file system: {said}")
