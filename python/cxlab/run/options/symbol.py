"""A function that a part of the program begins or ends with, by its place in a file.

::

    --from-symbol NAME        of PROGRAM's own file
    --from-symbol FILE:NAME   of a library, or of a program that PROGRAM starts
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

from cxlab.elf import FUNCTION, Elf
from cxlab.run.errors import BadRequest


@dataclass(frozen=True)
class Place:
    """The first instruction of a function."""

    file: Path
    #: in the file [bytes]
    offset: int


def find(flag: str, text: str, program: Path | None) -> Place:
    """The place of ``NAME`` or ``FILE:NAME``; ``program`` is the file of PROGRAM.

    Raises:
        BadRequest: there is no such file, or it names no such function.

    """
    named, _, name = text.rpartition(":")
    file = Path(named).absolute() if named else program
    asked = f"{flag} {text}"
    if file is None:
        raise BadRequest(
            f"{asked}: PROGRAM is no file of this host. Give FILE:NAME, the file that has the function"
        )
    elf = Elf.read(file)
    if elf is None:
        raise BadRequest(
            f"{asked}: {file} is no ELF program or library that you can read; valid: FILE:NAME. "
            f"For a script, name its interpreter or a library, as in {flag} /usr/bin/python3.11:Py_RunMain"
        )
    functions = {symbol.name: symbol.address for symbol in elf.symbols if symbol.kind == FUNCTION}
    if name not in functions:
        near = difflib.get_close_matches(name, functions, n=3)
        valid = (
            f"valid names are like {', '.join(near)}"
            if near
            else "`nm -D --defined-only FILE` lists the names"
        )
        found = "names no function: it is stripped" if not functions else f"names no function {name}"
        raise BadRequest(
            f"{asked}: {file} {found}; {valid}. Give the name that the linker uses (C++: mangled)"
        )
    address = functions[name]
    holds = (s for s in elf.segments if s.address <= address < s.address + s.file_bytes)
    segment = next(holds, None)
    if segment is None:
        raise BadRequest(f"{asked}: the code of {name} is not in {file}. Give the file that has the function")
    return Place(Path(os.path.realpath(file)), segment.offset + address - segment.address)
