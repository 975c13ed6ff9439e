"""``--keep DIR``: what the program wrote, copied out; a file appears in DIR only when the run is complete.

The guest copies into a hidden folder of DIR, where root of the guest may leave anything. CXLab takes from
there what the guest has reported: regular files of the reported size, folders and symbolic links. It drops
set-user-ID bits, syncs all, and follows no symbolic link, neither in the hidden folder nor below DIR.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from cxlab.run.errors import KeepFailed, UnusableFolder
from cxlab.run.guest.protocol import WrittenFile

KEPT = ("file", "folder", "symlink")
PREFIX = ".cxlab-keep-"
#: Named one by one in a message.
MOST_NAMED = 5
PERMISSIONS = 0o777
#: A folder, and no symbolic link to one. Opened name by name, a path is resolved as openat2(2) does it with
#: RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS.
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: The guest may have put a FIFO there: opening it must not wait.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LIBC = ctypes.CDLL(None, use_errno=True)


class Keep:
    """The folder, and a hidden one in it that the guest copies into."""

    def __init__(self, folder: Path) -> None:
        """Make both, and remove what killed runs have left."""
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            #: hidden folders of runs that were killed
            self.removed = _remove_leftovers(folder)
            self.arriving = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder)).resolve()
            self._lock = os.open(self.arriving, FOLDER)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError as error:
            raise UnusableFolder(f"--keep {folder}: {error.strerror}; choose another folder") from None

    def __enter__(self) -> Keep:
        """Nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Drop what has not been accepted."""
        _remove(self.arriving)
        os.close(self._lock)

    def accept(self, files: Sequence[WrittenFile]) -> None:
        """Move what has arrived into the folder, at the paths that the program used.

        Raises:
            KeepFailed: something is missing, of another size or in the way; all else is there.

        """
        lost = []
        try:
            with _opened(self.folder, FOLDER & ~os.O_NOFOLLOW) as target:
                for file in files:
                    try:
                        self._accept(file, target)
                    except OSError as error:
                        lost.append(f"{file.path}: {error.strerror}")
                _sync(target)
        except OSError as error:
            raise KeepFailed(f"--keep {self.folder}: {error.strerror}. Choose another folder") from None
        if lost:
            more = f", and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
            raise KeepFailed(
                f"--keep {self.folder}: {len(lost)} of {len(files)} files are not kept: "
                f"{'; '.join(lost[:MOST_NAMED])}{more}"
            )

    def _accept(self, file: WrittenFile, target: int) -> None:
        if file.lost is not None:
            raise OSError(0, file.lost)
        if file.kind not in KEPT:
            return
        *parents, name = _names(file.path)
        with _below(target, parents, make=True) as into:
            if file.kind == "folder":
                with _below(into, [name], make=True):
                    return
            with _below(self._lock, parents, make=False) as source:
                _check(source, name, file)
                os.rename(name, name, src_dir_fd=source, dst_dir_fd=into)


def _names(path: str) -> list[str]:
    """The names of an absolute path; the guest says what it likes."""
    names = path.lstrip("/").split("/")
    if any(name in ("", ".", "..") or "\0" in name for name in names):
        raise OSError(0, "this is no path of a file")
    return names


def _check(folder: int, name: str, file: WrittenFile) -> None:
    """Whether what has arrived is what was reported; a file gets its permissions."""
    if file.kind == "symlink":
        if not stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            raise OSError(0, "something else than a symbolic link has arrived")
        return
    with _opened(name, FILE, folder) as descriptor:
        arrived = os.fstat(descriptor)
        if not stat.S_ISREG(arrived.st_mode):
            raise OSError(0, "something else than a file has arrived")
        if arrived.st_size != file.size:
            raise OSError(0, f"{arrived.st_size} B of {file.size} B have arrived")
        os.fchmod(descriptor, file.mode & PERMISSIONS)


@contextmanager
def _below(folder: int, names: Sequence[str], *, make: bool) -> Iterator[int]:
    """The folder ``names`` below ``folder``; ``make`` what is not there. A symbolic link is not followed."""
    here = os.dup(folder)
    try:
        for name in names:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=here)
            try:
                inner = os.open(name, FOLDER, dir_fd=here)
            except NotADirectoryError:
                raise OSError(0, f"{name} is no folder, and links are not followed") from None
            os.close(here)
            here = inner
        yield here
    finally:
        os.close(here)


@contextmanager
def _opened(path: str | Path, flags: int, folder: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, flags, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sync(folder: int) -> None:
    """Put files and folders on the disk (syncfs(2)); a write that failed is told now."""
    if _LIBC.syncfs(folder) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _remove_leftovers(folder: Path) -> list[Path]:
    """Hidden folders that no run holds any longer."""
    removed = []
    for left in sorted(folder.glob(f"{PREFIX}*")):
        with suppress(OSError), _opened(left, FOLDER) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(left)
            removed.append(left)
    return removed


def _remove(tree: Path) -> None:
    """Remove a tree of the guest's, folders included that it has closed to their owner."""
    for _, folders, _, here in os.fwalk(tree):
        for name in folders:
            with suppress(OSError), _opened(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, here) as inner:
                os.chmod(f"/proc/self/fd/{inner}", stat.S_IRWXU)
    shutil.rmtree(tree, ignore_errors=True)
