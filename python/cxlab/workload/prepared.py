"""What a workload needs on this host before it runs: packages, its program, its data.

Program and data are kept in the cache (`cxlab.run.guest.cache`), under a hash of all that they are made from.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from cxlab.error import Code, InputError
from cxlab.run.guest import cache
from cxlab.workload.description import Value, Workload

#: Name of the program that the C files make.
PROGRAM = "program"


@dataclass(frozen=True)
class Prepared:
    """Folders that the script in the guest is told of."""

    build: Path
    data: Path | None

    def variables(self, workload: Workload, values: Mapping[str, Value], seed: int) -> dict[str, str]:
        """The script's variables: each value, the seed, and where things are."""
        return {
            **{name: str(value) for name, value in values.items()},
            "seed": str(seed),
            "WORKLOAD_BUILD": str(self.build),
            "WORKLOAD_FOLDER": str(workload.folder),
            "WORKLOAD_DATA": str(self.data) if self.data is not None else "",
            "WORKLOAD_PYTHON": sys.executable,
        }


def missing(workload: Workload) -> list[str]:
    """Packages that are not here in the version that the workload names, each with why."""
    found = []
    for package, begins in workload.document.debian.items():
        query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package]
        try:
            done = subprocess.run(query, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise InputError(
                Code.WORKLOAD,
                workload.name,
                "this host has no dpkg-query",
                "Debian 12, whose packages it names",
            ) from None
        status, _, version = done.stdout.partition(" ")
        if status != "installed":
            found.append(f"Debian package {package} is not installed")
        elif not version.startswith(begins):
            found.append(f"Debian package {package} is {version}, not {begins}*")
    for package, wanted in workload.document.pypi.items():
        try:
            version = metadata.version(package)
        except metadata.PackageNotFoundError:
            found.append(f"PyPI package {package} is not installed")
        else:
            if version != wanted:
                found.append(f"PyPI package {package} is {version}, not {wanted}")
    return found


def install_command(workload: Workload) -> str:
    """What gets the packages."""
    document, steps = workload.document, []
    if document.debian:
        steps.append("apt-get install --no-install-recommends " + " ".join(document.debian))
    if document.pypi:
        wanted = " ".join(f"{name}=={version}" for name, version in document.pypi.items())
        steps.append(f"{sys.executable} -m pip install {wanted}")
    return " && ".join(steps)


def prepare(workload: Workload, values: Mapping[str, Value], seed: int) -> Prepared:
    """Check the packages, build the program, write the data.

    Raises:
        InputError: a package is missing, or a program or the data could not be made.

    """
    if found := missing(workload):
        raise InputError(
            Code.WORKLOAD,
            workload.name,
            "; ".join(found),
            "the packages of its workload.toml",
            f"run scripts/setup workloads, or: {install_command(workload)}",
        )
    return Prepared(_build(workload), _data(workload, values, seed))


def _hash(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()[:20]


def _run(workload: Workload, what: str, command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=workload.folder)
    except FileNotFoundError:
        found = f"{command[0]} is missing"
        raise InputError(
            Code.WORKLOAD, workload.name, found, "a host with a C compiler", "apt-get install gcc"
        ) from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise InputError(Code.WORKLOAD, f"{workload.folder}: {what}", said, "files that its tools accept")


def _build(workload: Workload) -> Path:
    """The folder with the program; without C files an empty one."""
    sources = [workload.folder / name for name in workload.document.sources]
    beside = sorted({header for source in sources for header in source.parent.glob("*.h")})
    beside += sorted(workload.folder.parent.glob("*.h"))
    read = [file.read_bytes() for file in (*sources, *beside)]
    flags = [flag for flag in workload.document.flags if not flag.startswith("-l")]
    libraries = [flag for flag in workload.document.flags if flag.startswith("-l")]
    name = _hash(*read, " ".join(workload.document.flags).encode())

    def fill(folder: Path) -> None:
        if sources:
            command = ["gcc", *flags, "-o", folder / PROGRAM, *sources, *libraries]
            _run(workload, "sources", list(map(str, command)))

    return cache.entry(f"workloads/{workload.name}/build-{name}", fill)


def _data(workload: Workload, values: Mapping[str, Value], seed: int) -> Path | None:
    """The folder with the data; None: the program makes its own."""
    if workload.document.data is None:
        return None
    script = workload.folder / workload.document.data
    arguments = [f"{name}={value}" for name, value in sorted({**values, "seed": seed}.items())]
    name = _hash(script.read_bytes(), *(argument.encode() for argument in arguments))

    def fill(folder: Path) -> None:
        _run(workload, "data", [sys.executable, str(script), str(folder), *arguments])

    return cache.entry(f"workloads/{workload.name}/data-{name}", fill)
