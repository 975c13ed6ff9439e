"""The cache folder: things that are dear to get and the same for every run (kernel images, initramfs)."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def folder() -> Path:
    """``$XDG_CACHE_HOME/cxlab`` or ``~/.cache/cxlab`` (XDG base directory specification 0.8)."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    # The specification: a relative path is to be ignored.
    base = Path(home) if os.path.isabs(home) else Path.home() / ".cache"
    return base / "cxlab"


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
