"""The cache folder: files that take long to get and are the same for every run (kernel images, initramfs)."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cxlab.run.errors import UnusableFolder

#: Kept over a restart of the host.
TEMPORARY = Path("/var/tmp")


def folder() -> Path:
    """``$XDG_CACHE_HOME/cxlab`` or ``~/.cache/cxlab`` (XDG base directory specification 0.8).

    If that cannot be written, as in a home that is read-only: a folder of the user's own in /var/tmp.

    Raises:
        UnusableFolder: the folder in /var/tmp is another user's.

    """
    home = os.environ.get("XDG_CACHE_HOME", "")
    # The specification: a relative path is to be ignored.
    base = Path(home) if os.path.isabs(home) else Path.home() / ".cache"
    found = base / "cxlab"
    there = next(path for path in (found, *found.parents) if path.exists())
    return found if os.access(there, os.W_OK) else _own(TEMPORARY / f"cxlab-{os.getuid()}")


def _own(path: Path) -> Path:
    """A folder that nobody else can write: everybody can make one of its name first."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        state = path.lstat()
    except OSError as error:
        raise UnusableFolder(
            f"{path} cannot be made: {error}; set XDG_CACHE_HOME to a folder of yours"
        ) from None
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o022:
        raise UnusableFolder(f"{path} can be written by others; set XDG_CACHE_HOME to a folder of yours")
    return path


def entry(name: str, fill: Callable[[Path], None]) -> Path:
    """The folder ``name`` of the cache; ``fill`` makes its content the first time.

    A folder appears under its name only when it is complete; of two processes that want it at once, one
    waits.
    """
    target = folder() / name
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _lock(target.parent / f".{target.name}.lock"):
        if target.is_dir():
            return target
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            fill(partial)
            partial.chmod(0o755)
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return target


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
