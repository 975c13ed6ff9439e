"""Disks: what files take of one, and a small one that fills up."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cxlab.run.guest import cache
from modes import INPUTS

PAGE = 4096


def size(folder: Path) -> int:
    """Pages of the files below, in bytes."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in ("stdout", "stderr"))
    return sum(-(-path.stat().st_size // PAGE) * PAGE for path in files)


def saved_boot_bytes() -> int:
    """Space that the largest saved boot takes on the disk [bytes]."""
    states = (cache.folder() / "boot").glob("*/state")
    return max((path.stat().st_blocks * 512 for path in states), default=PAGE)


@contextmanager
def small_disk(folder: Path, limit: int) -> Iterator[None]:
    """A file system of so many bytes over the folder, with the inputs that the folder has."""
    kept = {name: (folder / name).read_bytes() for name in INPUTS if (folder / name).is_file()}
    inputs = sum(-(-len(content) // PAGE) * PAGE for content in kept.values())
    options = f"size={max(PAGE, limit // PAGE * PAGE) + inputs}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], check=True)
    try:
        for name, content in kept.items():
            (folder / name).write_bytes(content)
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
