"""The files that the loader of a program reads before it begins, found as ld.so(8) finds them.

::

    ELF file --> PT_INTERP: its loader       DT_NEEDED: names of libraries, and so on for each of these
    a name   --> RPATH, LD_LIBRARY_PATH, RUNPATH, /etc/ld.so.cache, /lib, /usr/lib
    #! file  --> its interpreter

Nothing is executed: ldd(1) starts the program's loader, and a program need not be trusted.
Not found: what a program loads later (dlopen), LD_PRELOAD, and variants of glibc-hwcaps.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little-endian
#: System V ABI, program header and dynamic section; gABI, DT_RUNPATH
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 1, 5, 15, 29
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


@dataclass(frozen=True)
class _Elf:
    """What the loader looks at."""

    interpreter: str | None
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]


def loaded(program: str, environment: Mapping[str, str]) -> list[str]:
    """Real paths of what is read to start ``program``, in the order of the loader; without the program."""
    variable = tuple(p for p in environment.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":") if p)
    found: dict[str, tuple[str, ...]] = {}
    queue: list[tuple[str, tuple[str, ...]]] = [(os.path.realpath(program), ())]
    while queue and len(found) < MOST_FILES:
        path, inherited = queue.pop(0)
        if path in found:
            continue
        found[path] = inherited
        queue += [(os.path.realpath(file), paths) for file, paths in _next(path, inherited, variable)]
    return list(found)[1:]


def _next(
    path: str, inherited: tuple[str, ...], variable: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Files that the loader reads because of this one, each with the RPATHs that it inherits."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return
    if content.startswith(b"#!"):
        words = content[2:256].split(b"\n")[0].split()
        if words:
            yield os.fsdecode(words[0]), ()
        return
    elf = _parse(content, os.path.dirname(path))
    if elf is None:
        return
    if elf.interpreter is not None:
        yield elf.interpreter, ()
    # A RUNPATH switches off the RPATHs, its own and those of the files that lead here.
    old = () if elf.runpath else (*elf.rpath, *inherited)
    for name in elf.needed:
        library = _find(name, (*old, *variable, *elf.runpath))
        if library is not None:
            yield library, (*elf.rpath, *inherited)


def _find(name: str, folders: Sequence[str]) -> str | None:
    if "/" in name:
        return name
    here = (os.path.join(folder, name) for folder in folders)
    known = _cache().get(name)
    default = (os.path.join(folder, name) for folder in DEFAULT)
    candidates = (*here, *(() if known is None else (known,)), *default)
    return next((path for path in candidates if os.path.isfile(path)), None)


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


def _parse(content: bytes, origin: str) -> _Elf | None:
    """None: no program of 64 bits, or a damaged one."""
    if not content.startswith(MAGIC):
        return None
    try:
        table, size, count = (
            struct.unpack_from("<Q", content, 32)[0],
            *struct.unpack_from("<HH", content, 54),
        )
        headers = [struct.unpack_from("<IIQQQQQQ", content, table + size * n) for n in range(count)]
        interpreter = next((_text(content, h[2]) for h in headers if h[0] == PT_INTERP), None)
        entries = [entry for h in headers if h[0] == PT_DYNAMIC for entry in _dynamic(content, h[2], h[5])]
        strings = next((value for tag, value in entries if tag == DT_STRTAB), 0)
        place = next(
            (h[2] + strings - h[3] for h in headers if h[0] == PT_LOAD and h[3] <= strings < h[3] + h[5]), 0
        )
        words = {
            wanted: [_text(content, place + value) for tag, value in entries if tag == wanted]
            for wanted in (DT_NEEDED, DT_RPATH, DT_RUNPATH)
        }
    except (struct.error, ValueError):
        return None
    rpath, runpath = (_folders(words[tag], origin) for tag in (DT_RPATH, DT_RUNPATH))
    return _Elf(interpreter, tuple(words[DT_NEEDED]), rpath, runpath)


def _dynamic(content: bytes, offset: int, size: int) -> Iterator[tuple[int, int]]:
    for place in range(offset, offset + size - 15, 16):
        tag, value = struct.unpack_from("<qQ", content, place)
        if tag == 0:
            return
        yield tag, value


def _folders(lists: Sequence[str], origin: str) -> tuple[str, ...]:
    words = (folder for text in lists for folder in text.split(":") if folder)
    return tuple(folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for folder in words)


def _text(content: bytes, place: int) -> str:
    return os.fsdecode(content[place : content.index(b"\0", place)])
