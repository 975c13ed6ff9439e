"""Reads the configuration of a run from its folder: config.json. `cxlab.run.results.summary` writes it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from cxlab import file_format
from cxlab.border import MachineFigures
from cxlab.file_format import Format
from cxlab.run.errors import NoRun

FILE = "config.json"


class Program(Struct, frozen=True):
    """The command, and the folder that it ran in."""

    argv: list[str]
    cwd: str


class Configuration(Struct, frozen=True):
    """Fields that are read of config.json."""

    program: Program
    placement: str
    cpus: int
    #: by the node's name
    memory_bytes: dict[str, int]
    machine: MachineFigures
    #: None: not known
    versions: dict[str, str | None]
    format: str = Format.CONFIG


def read(folder: Path) -> Configuration:
    """Read what the run in this folder was asked.

    Raises:
        NoRun: there is no such file, or it is of another CXLab.

    """
    file = folder / FILE
    try:
        read = msgspec.json.decode(file.read_bytes(), type=Configuration)
        another = file_format.other_than(Format.CONFIG, read.format)
        if another is None:
            return read
        raise NoRun(f"{file}: {another}. Run the program again")
    except OSError as error:
        raise NoRun(f"{file} cannot be read: {error.strerror}; valid: the folder of a run") from None
    except ValueError as error:
        raise NoRun(f"{file} is of another CXLab ({error}); run the program again") from None
