"""Whether there is the program that a run names: asked before the boot. The guest sees this host's files.

As execvp(3): a name with '/' is a path, others are looked up in PATH of the program's environment. The guest
alone can tell what is in its own trees and what may be executed: that is left to the guest.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from cxlab.run.errors import ProgramNotFound

#: Trees of the guest's own: a file of the host's there is not the guest's.
GUEST_TREES = ("/dev/", "/proc/", "/run/", "/sys/")


def check(name: str, folder: str, environment: Mapping[str, str]) -> None:
    """Refuse a program that is not there.

    Raises:
        ProgramNotFound: there is no such file.

    """
    if "/" in name:
        if not _may_be_there(os.path.join(folder, name)):
            raise ProgramNotFound(f"{name}: not found; give the path of a program of this host")
        return
    searched = environment.get("PATH", "")
    if not any(_may_be_there(os.path.join(folder, place, name)) for place in searched.split(":")):
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
