"""``cxlab doctor``: what this host has, what it lacks, and how to get that."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from cxlab.machine import artefacts, description, kernel_image, qemu
from cxlab.machine.errors import MachineError

SETUP = "run scripts/setup"
BIOS = (Path("/usr/share/seabios/bios-256k.bin"), Path("/usr/share/qemu/bios-256k.bin"))


@dataclass(frozen=True)
class Missing(Exception):
    """A requirement that is not met."""

    found: str
    remedy: str


def _system() -> str:
    release = platform.freedesktop_os_release()
    found = f"{release.get('PRETTY_NAME', 'unknown')}, {platform.machine()}"
    if platform.machine() != "x86_64":
        raise Missing(found, "CXLab decodes x86-64 instructions: use an x86-64 host")
    if (release.get("ID"), release.get("VERSION_ID")) != ("debian", "12"):
        raise Missing(
            found,
            "CXLab is made for Debian 12: it takes QEMU 10.0 and the guest's kernel from bookworm-backports",
        )
    return found


def _bios() -> str:
    for path in BIOS:
        if path.is_file():
            return str(path)
    raise Missing("", "sudo apt-get install seabios")


def _kernel() -> str:
    image = kernel_image.cached()
    if image is None:
        raise Missing("", f"{SETUP}; the first `cxlab run` would download it as well")
    return f"{image.release}, {image.folder}"


def _model() -> str:
    return f"{len(description.model().machine_names())} machines"


def _artefact(path: Path) -> Callable[[], str]:
    return lambda: str(artefacts.built(path))


REQUIREMENTS: dict[str, Callable[[], str]] = {
    "system": _system,
    # pip installs the package for no older one.
    "Python 3.11": platform.python_version,
    f"QEMU {qemu.WANTED}.x": qemu.check_version,
    "SeaBIOS": _bios,
    f"guest kernel {kernel_image.SERIES}": _kernel,
    "guest init": _artefact(artefacts.GUEST_INIT),
    "placement controller": _artefact(artefacts.CAPTION),
    "QEMU plugin": _artefact(artefacts.QEMU_PLUGIN),
    "timing model": _model,
}


@click.command(
    "doctor",
    help="Say what this host has, what it lacks, and how to get that. Exit status 1 if it lacks anything.",
)
def command() -> int:
    """One row a requirement."""
    table = Table()
    for heading in ("requirement", "state", "found", "how to get it"):
        table.add_column(heading, overflow="fold")
    lacking = 0
    for name, check in REQUIREMENTS.items():
        try:
            row = ("[green]found[/]", check(), "")
        except Missing as missing:
            row = ("[red]missing[/]", missing.found, missing.remedy)
        except MachineError as error:
            row = ("[red]missing[/]", "", error.args[0])
        lacking += "missing" in row[0]
        table.add_row(name, *row)
    Console().print(table)
    return 1 if lacking else 0
