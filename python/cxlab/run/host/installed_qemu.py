"""The QEMU that this host has: where it is, and whether its version is one that CXLab works with."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from cxlab.run.errors import QemuMissing, QemuVersion

PROGRAM = "qemu-system-x86_64"
#: The plugin replaces parts of the accelerator's table of functions. It knows where they are in these series:
#: crates/qemu-plugin/src/series.rs.
KNOWN = ("10.0", "11.1")
WANTED = " or ".join(f"{series}.x" for series in KNOWN)
HOW_TO_GET = (
    "Debian 13 has it: sudo apt-get install qemu-system-x86. Debian 12 has it in bookworm-backports: "
    "sudo apt-get install -t bookworm-backports qemu-system-x86"
)


def found() -> Path:
    """The QEMU on PATH.

    Raises:
        QemuMissing: there is none.

    """
    path = shutil.which(PROGRAM)
    if path is None:
        raise QemuMissing(f"{PROGRAM} is not on PATH; wanted: QEMU {WANTED}. {HOW_TO_GET}")
    return Path(path).resolve()


def version() -> str:
    """The version of the QEMU on PATH.

    Raises:
        QemuMissing: there is none.

    """
    path = found()
    return _version_of(path, path.stat().st_mtime_ns)


@cache
def _version_of(path: Path, written_ns: int) -> str:
    """Ask it once; ``written_ns`` tells another QEMU at the same place."""
    said = subprocess.run([path, "--version"], check=False, capture_output=True, text=True).stdout
    match = re.search(r"version (\d+\.\d+\.\d+)", said)
    if match is None:
        raise QemuVersion(
            f"{path} does not tell its version: {said.strip()!r}; wanted: QEMU {WANTED}. {HOW_TO_GET}"
        )
    return match[1]


def check_version() -> str:
    """The version, which is one that CXLab works with.

    Raises:
        QemuMissing: there is no QEMU.
        QemuVersion: its series is not known.

    """
    here = version()
    if here.rpartition(".")[0] not in KNOWN:
        raise QemuVersion(f"QEMU {here} was found, {WANTED} is wanted. {HOW_TO_GET}")
    return here
