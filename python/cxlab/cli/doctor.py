"""``cxlab doctor``: what this host has, what it lacks, and how to get that."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
from rich.table import Table

from cxlab import model, output
from cxlab.error import HostRefuses, MachineError
from cxlab.run.errors import NoJail
from cxlab.run.guest import artefacts, kernel_image
from cxlab.run.host import installed_qemu, jail, landlock
from cxlab.run.options.confinement import Mode

FIX = "cxlab doctor --fix"
#: Debian's releases that have a QEMU and a kernel that are known: 12 in its backports, 13 itself.
DEBIAN = ("12", "13")
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
    if release.get("ID") != "debian" or release.get("VERSION_ID") not in DEBIAN:
        raise Missing(found, "CXLab is made for Debian 12 and 13, which have its QEMU and the guest's kernel")
    return found


def _bios() -> str:
    for path in BIOS:
        if path.is_file():
            return str(path)
    raise Missing("", "sudo apt-get install seabios")


def _kernel() -> str:
    image = kernel_image.cached()
    if image is None:
        raise Missing("", f"{FIX}; the first `cxlab run` downloads it as well")
    return f"{image.release}, {image.folder}"


def _model() -> str:
    return f"{len(model.machine_names())} machines"


def _artefact(path: Path) -> Callable[[], str]:
    return lambda: str(artefacts.built(path))


def _jail() -> str:
    try:
        found = jail.find(Mode.REQUIRE)
    except NoJail as none:
        raise Missing("runs are not confined", none.args[0]) from None
    except HostRefuses as short:
        raise Missing("no run can start", short.args[0]) from None
    assert isinstance(found, jail.Jail)
    own = "a user namespace" if "--unshare-user" in found.namespaces else "as root, without capabilities"
    version = landlock.version()
    wall = "no Landlock" if version is None else f"Landlock {version}"
    return f"{found.program}, {own}; {wall}"


REQUIREMENTS: dict[str, Callable[[], str]] = {
    "system": _system,
    # pip installs the package for no older one.
    "Python 3.11": platform.python_version,
    f"QEMU {installed_qemu.WANTED}": installed_qemu.check_version,
    "SeaBIOS": _bios,
    "jail of QEMU and model": _jail,
    f"guest kernel {kernel_image.SERIES}": _kernel,
    "guest init": _artefact(artefacts.GUEST_INIT),
    "placement controller": _artefact(artefacts.CAPTION),
    "QEMU plugin": _artefact(artefacts.QEMU_PLUGIN),
    "timing model": _model,
}


@click.command(
    "doctor",
    help="Check this host, and say how to get what is missing.\n\n"
    "Exit status: 0 if all is there, 1 if something is missing.\n\nExample: cxlab doctor --fix",
)
@click.option(
    "--fix", is_flag=True, help="Download the guest's kernel first, if it is missing (about 110 MB once)."
)
def command(fix: bool) -> int:
    """One row a requirement."""
    if fix and kernel_image.cached() is None:
        try:
            kernel_image.ensure()
        except MachineError as error:
            click.echo(f"cxlab: {error}", err=True)
    table, lacking = state()
    output.console().print(table)
    return 1 if lacking else 0


def state() -> tuple[Table, int]:
    """Check every requirement: a row for each, and how many are missing."""
    table = output.table(("requirement", "state", "found", "how to get it"), left=0, fold=4)
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
    return table, lacking
