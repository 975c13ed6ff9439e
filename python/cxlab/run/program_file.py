"""Checks before the boot that the program of a run exists. The guest sees this host's files.

As execvp(3): a name with '/' is a path, others are looked up in PATH of the program's environment. A folder
is refused, and a file that nobody may execute. The guest alone can tell what is in its own trees, and who may
execute a file: that is left to the guest.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from cxlab.run.errors import ProgramNotExecutable, ProgramNotFound

#: Trees of the guest's own: a file of the host's there is not the guest's.
GUEST_TREES = ("/dev/", "/proc/", "/run/", "/sys/")


def check(name: str, folder: str, environment: Mapping[str, str]) -> None:
    """Refuse a program that is not there, or that cannot be executed.

    Raises:
        ProgramNotFound: there is no such file.
        ProgramNotExecutable: there is one, and it is no program.

    """
    searched = environment.get("PATH", "")
    places = [""] if "/" in name else searched.split(":")
    found = [path for place in places if _may_be_there(path := os.path.join(folder, place, name))]
    if found and not any(_may_be_executable(path) for path in found):
        raise ProgramNotExecutable(
            f"{found[0]}: not a program: nobody may execute it; make it one with chmod +x, "
            "or name its interpreter, as in sh FILE"
        )
    if not found and "/" in name:
        raise ProgramNotFound(f"{name}: not found; give the path of a program of this host")
    if not found:
        raise ProgramNotFound(
            f"{name}: not found in {searched}; give its path, or set PATH with --env PATH=FOLDER:..."
        )


def find(name: str, folder: str, environment: Mapping[str, str]) -> Path | None:
    """The program's file; None if this host has none."""
    found = os.path.join(folder, name) if "/" in name else shutil.which(name, path=environment.get("PATH"))
    return None if found is None else Path(found)


def _may_be_there(path: str) -> bool:
    """False only where this host says that there is nothing."""
    try:
        return os.path.realpath(path, strict=True) != ""
    except (FileNotFoundError, NotADirectoryError):
        return os.path.normpath(path).startswith(GUEST_TREES)
    except OSError:
        return True


def _may_be_executable(path: str) -> bool:
    """False only where this host says that it is a folder, or that nobody may execute it."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) and mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH) != 0
