"""The files that the loader of a program reads before it begins, found as ld.so(8) finds them.

::

    ELF file --> PT_INTERP: its loader       DT_NEEDED: names of libraries, and so on for each of these
    a name   --> RPATH, LD_LIBRARY_PATH, RUNPATH, /etc/ld.so.cache, /lib, /usr/lib
    #! file  --> its interpreter, and the program that env(1) finds

Nothing is executed: ldd(1) starts the program's loader, and a program need not be trusted.
Not found: what a program loads later (dlopen), LD_PRELOAD, and variants of glibc-hwcaps.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cxlab.elf import Elf

DEFAULT = (
    *("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"),
    *("/lib64", "/usr/lib64", "/lib", "/usr/lib"),
)
LOADER_CACHE = Path("/etc/ld.so.cache")
#: glibc, sysdeps/generic/dl-cache.h: magic and version, then entries of 24 bytes from byte 48
CACHE_MAGIC, CACHE_HEADER, CACHE_ENTRY = b"glibc-ld.so.cache1.1", 48, struct.Struct("<iIIIQ")
#: FLAG_X8664_LIB64 | FLAG_ELF_LIBC6
CACHE_OF_X86_64 = 0x0303
#: A program of more libraries than that is none that anybody has seen.
MOST_FILES = 2048


def loaded(program: str, environment: Mapping[str, str]) -> list[str]:
    """Real paths of what is loaded to start ``program``, in the order of the loader; without the program."""
    return _search(program, environment)[0]


def read(program: str, environment: Mapping[str, str]) -> list[str]:
    """Paths of files that are loaded, and of the loader's cache if a library is looked up there.

    A package that adds a library changes the cache, so a program that never loads it runs a little
    differently afterwards.
    """
    order, search = _search(program, environment)
    return [*order, str(LOADER_CACHE)] if search.asked_cache else order


def _search(program: str, environment: Mapping[str, str]) -> tuple[list[str], _Search]:
    variable = environment.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":")
    search = _Search([folder for folder in variable if folder], environment.get("PATH", os.defpath))
    found: set[str] = set()
    order: list[str] = []
    queue: list[tuple[str, Sequence[str]]] = [(program, ())]
    while queue and len(found) < MOST_FILES:
        file, inherited = queue.pop(0)
        path = os.path.realpath(file)
        if path in found:
            continue
        found.add(path)
        order.append(path)
        queue += search.next(Path(path), inherited)
    return order[1:], search


@dataclass
class _Search:
    """Folders in which the loader looks for files, by the program's environment."""

    #: folders of LD_LIBRARY_PATH
    variable: Sequence[str]
    #: PATH
    programs: str
    #: a library was not in the folders that come before the loader's cache
    asked_cache: bool = False

    def next(self, path: Path, inherited: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
        """Files that are read because of this one, each with the RPATHs that it inherits."""
        try:
            content = path.read_bytes()
        except OSError:
            return
        if content.startswith(b"#!"):
            yield from ((program, ()) for program in self._interpreters(content))
            return
        elf = Elf.of(path, content)
        if elf is None:
            return
        asked = elf.asked
        if asked.interpreter is not None:
            yield asked.interpreter, ()
        # A RUNPATH switches off the RPATHs, its own and those of the files that lead here.
        old = () if asked.runpath else (*asked.rpath, *inherited)
        for name in asked.needed:
            library = self._find(name, (*old, *self.variable, *asked.runpath))
            if library is not None:
                yield library, (*asked.rpath, *inherited)

    def _find(self, name: str, folders: Sequence[str]) -> str | None:
        if "/" in name:
            return name
        here = (os.path.join(folder, name) for folder in folders)
        first = next((path for path in here if os.path.isfile(path)), None)
        if first is not None:
            return first
        self.asked_cache = True
        known = _cache().get(name)
        default = (os.path.join(folder, name) for folder in DEFAULT)
        candidates = (*(() if known is None else (known,)), *default)
        return next((path for path in candidates if os.path.isfile(path)), None)

    def _interpreters(self, content: bytes) -> Iterator[str]:
        """Return the interpreter of a script's first line, and the program that env(1) finds for it."""
        words = [os.fsdecode(word) for word in content[2:256].split(b"\n")[0].split()]
        yield from words[:1]
        if len(words) > 1 and os.path.basename(words[0]) == "env":
            program = shutil.which(words[1], path=self.programs)
            if program is not None:
                yield program


@cache
def _cache() -> dict[str, str]:
    """Libraries of this host's loader cache, by name."""
    try:
        content = LOADER_CACHE.read_bytes()
    except OSError:
        return {}
    begin = content.find(CACHE_MAGIC)
    if begin < 0:
        return {}
    content = content[begin:]
    (count,) = struct.unpack_from("<I", content, len(CACHE_MAGIC))
    known: dict[str, str] = {}
    try:
        for number in range(count):
            flags, key, value, _, capabilities = CACHE_ENTRY.unpack_from(
                content, CACHE_HEADER + number * CACHE_ENTRY.size
            )
            if flags == CACHE_OF_X86_64 and capabilities == 0:
                known.setdefault(_text(content, key), _text(content, value))
    except (struct.error, ValueError):
        return {}
    return known


def _text(content: bytes, place: int) -> str:
    return os.fsdecode(content[place : content.index(b"\0", place)])
