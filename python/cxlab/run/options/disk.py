"""The guest's disk on the machine's drive: swap (``--swap``) and a file system (``--disk``)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import click

from cxlab.run.errors import BadRequest
from cxlab.run.machine import Machine
from cxlab.run.options.option import Given, Option
from cxlab.run.size import BLOCKS_OF_STAT, MIB, format_bytes, parse_bytes

#: What the guest mounts or makes itself, and the host's own below which a mount would hide what Linux needs.
RESERVED = ("/", "/dev", "/proc", "/run", "/sys")
#: ext4 with a journal: mke2fs makes none that is smaller [bytes].
LEAST_FILES = 16 * MIB

SWAP: Option[str | None] = Option(
    "--swap",
    "Size of swap on the machine's drive. Its requests take simulated time.  [default: none]  Example: 4G",
    {"metavar": "SIZE"},
)
DISK: Option[str | None] = Option(
    "--disk",
    "Size of a file system (ext4) on the machine's drive. Its requests take simulated time, and programs run "
    "on meanwhile. It is gone when the run ends.  [default: none]  Example: 4G",
    {"metavar": "SIZE"},
)
DISK_AT: Option[str] = Option(
    "--disk-at",
    "Folder where the program finds the file system of --disk. What the host has there is hidden.  "
    "[default: /disk]  Example: /var/lib/redis",
    {"metavar": "FOLDER", "default": "/disk"},
)
DISK_FROM: Option[Path | None] = Option(
    "--disk-from",
    "Folder of the host whose content is on --disk from the start, as a copy.  [default: an empty disk]  "
    "Example: results/database",
    {"type": click.Path(path_type=Path), "metavar": "FOLDER"},
)
#: In the order in which the help shows them.
OPTIONS = (SWAP, DISK, DISK_AT, DISK_FROM)


@dataclass(frozen=True)
class Files:
    """A file system on the drive."""

    #: [bytes]
    size: int
    #: where the program finds it
    at: str
    #: folder of the host that it is a copy of; None: it is empty
    source: Path | None


@dataclass(frozen=True)
class Content:
    """Content of the drive: at least one of the two."""

    #: [bytes]; None: no swap
    swap_bytes: int | None
    files: Files | None


def content(given: Given, machine: Machine) -> Content | None:
    """Return the content of the drive; None: the guest has no disk.

    Raises:
        BadRequest: the machine has no drive, or a value that it cannot have.

    """
    asked = [option for option in (SWAP, DISK) if given[option] is not None]
    _refuse_alone(given)
    if not asked:
        return None
    if machine.drive is None:
        flag = asked[0].flag
        raise BadRequest(
            f"{flag} {given[asked[0]]}: the machine {machine.name} has no drive for it. "
            "Name one with --set drive=pm983, or in the machine's file"
        )
    swap = given[SWAP]
    return Content(None if swap is None else parse_bytes(swap), _files(given))


def _refuse_alone(given: Given) -> None:
    if given[DISK] is not None:
        return
    for option in (DISK_AT, DISK_FROM):
        if given.is_set(option):
            raise BadRequest(
                f"{option.flag} without --disk: there is no file system. Add --disk SIZE, as in 4G"
            )


def _files(given: Given) -> Files | None:
    text = given[DISK]
    if text is None:
        return None
    size = parse_bytes(text)
    if size < LEAST_FILES:
        raise BadRequest(f"--disk {text}: too small for a file system; {format_bytes(LEAST_FILES)} or more")
    source = given[DISK_FROM]
    if source is not None:
        _check_source(source, size)
    return Files(size, _mount_point(given[DISK_AT]), None if source is None else source.absolute())


def _check_source(source: Path, size: int) -> None:
    """Refuse what cannot fit before anything starts; mke2fs says so of what nearly fits."""
    if not source.is_dir():
        raise BadRequest(f"--disk-from {source}: no such folder")
    needed = 0
    for folder, _, names in os.walk(source):
        for name in names:
            file = os.lstat(os.path.join(folder, name))
            needed += min(file.st_blocks * BLOCKS_OF_STAT, file.st_size)
        if needed > size:
            raise BadRequest(
                f"--disk-from {source}: its files do not fit on --disk {format_bytes(size)}. "
                "Give a larger --disk"
            )


def _mount_point(text: str) -> str:
    folder = PurePosixPath(text)
    parts = folder.parts
    if not folder.is_absolute() or ".." in parts:
        raise BadRequest(f"--disk-at {text}: valid is an absolute path without '..', as in /disk")
    if str(folder) == "/" or f"/{parts[1]}" in RESERVED:
        raise BadRequest(
            f"--disk-at {text}: the guest has its own {', '.join(RESERVED)}; valid is another folder"
        )
    return str(folder)
