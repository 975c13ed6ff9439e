"""Packs what a maintainer needs to know of a run. The archive has nothing private in it unless the user
asks.

::

    config.json, summary.json    without the program's arguments, its files and its environment
    statistics.json, series.parquet    as they are
    doctor.txt                   what this host has and lacks
    console.log, stdout, stderr  only if private files are asked for
"""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

from cxlab.run.errors import NoRun

#: Files that hold figures of the model alone.
OPEN = ("statistics.json", "series.parquet")
#: Files that hold what the guest and the program printed.
PRINTED = ("console.log", "stdout", "stderr")
#: Keys of config.json and summary.json whose values name the user's files, arguments or variables.
PRIVATE_KEYS = ("program", "environment", "files")
LEFT_OUT = "left out"


def pack(folder: Path, doctor: str, *, private: bool) -> dict[str, bytes]:
    """Gather the members of the archive, by name.

    Args:
        folder: of a run, finished or not.
        doctor: what `cxlab doctor` prints on this host.
        private: include the program's arguments, its environment and what it printed.

    Raises:
        NoRun: the folder has no readable config.json.

    """
    members = {"doctor.txt": doctor.encode()}
    for name in ("config.json", "summary.json"):
        document = _document(folder / name)
        if document is not None:
            shown = document if private else without_private(document)
            members[name] = json.dumps(shown, indent=2).encode()
    if "config.json" not in members:
        raise NoRun(f"{folder} holds no run; valid: the folder that `cxlab run` names at its end")
    for name in (*OPEN, *(PRINTED if private else ())):
        if (folder / name).is_file():
            members[name] = (folder / name).read_bytes()
    return members


def without_private(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out what names the user's files, arguments and variables. A program's size and hash stay."""
    shown = {key: LEFT_OUT if key in PRIVATE_KEYS else value for key, value in document.items()}
    match document.get("program_file"):
        case dict() as file:
            shown["program_file"] = {**file, "path": LEFT_OUT}
    for key in ("libraries", "input_files"):
        if key in document:
            shown[key] = [{**file, "path": LEFT_OUT} for file in document[key]]
    return {key: _without_paths(value, _secrets(document)) for key, value in shown.items()}


def archive(members: dict[str, bytes], name: str) -> bytes:
    """Write the members as a compressed tar archive, below a folder ``name``."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for member, content in members.items():
            entry = tarfile.TarInfo(f"{name}/{member}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def _document(file: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise NoRun(f"{file} cannot be read: {error}") from None
    return document if isinstance(document, dict) else None


def _secrets(document: dict[str, Any]) -> list[str]:
    """Texts that other values, such as the reason of a failure, may quote: longest first."""
    program = document.get("program") or {}
    variables = document.get("environment") or {}
    quoted = [*program.get("argv", ()), program.get("cwd", ""), *variables.values()]
    # A short argument, such as `-n`, is also a part of ordinary words.
    return sorted({str(text) for text in quoted if len(str(text)) > 3}, key=len, reverse=True)


def _without_paths(value: object, secrets: list[str]) -> object:
    match value:
        case str():
            for secret in secrets:
                value = value.replace(secret, LEFT_OUT)
            return value
        case dict():
            return {key: _without_paths(inner, secrets) for key, inner in value.items()}
        case list():
            return [_without_paths(inner, secrets) for inner in value]
        case _:
            return value
