"""Reads ELF files of 64 bits, little-endian: segments, symbols, and the files that the loader needs.

Source: System V ABI, chapters 4 and 5; generic ABI, DT_RUNPATH.
"""

from __future__ import annotations

import bisect
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

MAGIC, HEADER_BYTES = b"\x7fELF\x02\x01", 64
#: Types of program headers, and a flag of one.
PT_LOAD, PT_DYNAMIC, PT_INTERP, EXECUTABLE = 1, 2, 3, 1
#: Tags of the dynamic section.
DT_NULL, DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 0, 1, 5, 15, 29
SYMBOL_TABLES = (2, 11)
#: What reading a damaged file ends with.
DAMAGE = (struct.error, ValueError, IndexError)
DATA, FUNCTION = "data", "function"
#: Types of symbols (ELF64_ST_TYPE): object, function, indirect function.
KINDS = {1: DATA, 2: FUNCTION, 10: FUNCTION}


@dataclass(frozen=True)
class Segment:
    """A stretch of the file, and where it is in memory, above the base."""

    offset: int
    address: int
    file_bytes: int
    memory_bytes: int
    executable: bool


@dataclass(frozen=True, order=True)
class Symbol:
    """A name and what it stands for."""

    address: int
    size: int
    name: str = field(compare=False)
    kind: str = field(compare=False)


@dataclass(frozen=True)
class Asked:
    """Files that an ELF file needs from the loader."""

    #: the loader itself, of a program
    interpreter: str | None
    needed: Sequence[str]
    #: folders, with $ORIGIN put in
    rpath: Sequence[str]
    runpath: Sequence[str]


@dataclass(frozen=True)
class _ProgramHeader:
    """An entry of the program header table."""

    kind: int
    flags: int
    offset: int
    address: int
    file_bytes: int
    memory_bytes: int


@dataclass(frozen=True, eq=False)
class Elf:
    """One file."""

    path: Path
    content: bytes

    @classmethod
    def of(cls, path: Path, content: bytes) -> Elf | None:
        """The file with this content; None if it is no ELF file of 64 bits, or a damaged one."""
        if not content.startswith(MAGIC) or len(content) < HEADER_BYTES:
            return None
        elf = cls(path, content)
        try:
            _ = elf.asked
        except DAMAGE:
            return None
        return elf

    @classmethod
    def read(cls, path: Path) -> Elf | None:
        """The file; None if it cannot be read, or is none."""
        try:
            content = path.read_bytes()
        except OSError:
            return None
        return cls.of(path, content)

    @cached_property
    def _headers(self) -> Sequence[_ProgramHeader]:
        (begin,) = struct.unpack_from("<Q", self.content, 32)
        size, count = struct.unpack_from("<HH", self.content, 54)
        found = []
        for place in range(count):
            kind, flags, offset, address, _, in_file, in_memory, _ = struct.unpack_from(
                "<IIQQQQQQ", self.content, begin + place * size
            )
            found.append(_ProgramHeader(kind, flags, offset, address, in_file, in_memory))
        return found

    @cached_property
    def segments(self) -> Sequence[Segment]:
        """Return the segments that are loaded."""
        return [
            Segment(
                header.offset,
                header.address,
                header.file_bytes,
                header.memory_bytes,
                bool(header.flags & EXECUTABLE),
            )
            for header in self._headers
            if header.kind == PT_LOAD
        ]

    @cached_property
    def asked(self) -> Asked:
        """Return the files that the loader has to find."""
        interpreters = (h.offset for h in self._headers if h.kind == PT_INTERP)
        interpreter = next((self._text(offset) for offset in interpreters), None)
        entries = [entry for h in self._headers if h.kind == PT_DYNAMIC for entry in self._dynamic(h)]
        strings = next((value for tag, value in entries if tag == DT_STRTAB), 0)
        holds = (s for s in self.segments if s.address <= strings < s.address + s.file_bytes)
        place = next((s.offset + strings - s.address for s in holds), 0)

        def words(wanted: int) -> list[str]:
            return [self._text(place + value) for tag, value in entries if tag == wanted]

        rpath, runpath = self._folders(words(DT_RPATH)), self._folders(words(DT_RUNPATH))
        return Asked(interpreter, words(DT_NEEDED), rpath, runpath)

    def _dynamic(self, header: _ProgramHeader) -> Iterator[tuple[int, int]]:
        """Tag and value of each entry."""
        for at in range(header.offset, header.offset + header.file_bytes - 15, 16):
            tag, value = struct.unpack_from("<qQ", self.content, at)
            if tag == DT_NULL:
                return
            yield tag, value

    def _folders(self, lists: Sequence[str]) -> Sequence[str]:
        origin = str(self.path.parent)
        words = (folder for text in lists for folder in text.split(":") if folder)
        return [folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for folder in words]

    def _text(self, place: int) -> str:
        return os.fsdecode(self.content[place : self.content.index(b"\0", place)])

    def _sections(self) -> Iterator[tuple[int, int, int, int]]:
        """Type, offset, size and link of each section."""
        (begin,) = struct.unpack_from("<Q", self.content, 40)
        size, count = struct.unpack_from("<HH", self.content, 58)
        for place in range(count if begin else 0):
            _, kind, _, _, offset, length, link = struct.unpack_from(
                "<IIQQQQI", self.content, begin + place * size
            )
            yield kind, offset, length, link

    @cached_property
    def symbols(self) -> Sequence[Symbol]:
        """Functions and data, in the order of their addresses; none of a file whose tables are damaged."""
        try:
            return sorted(set(self._symbols()))
        except DAMAGE:
            return ()

    def _symbols(self) -> Iterator[Symbol]:
        sections = list(self._sections())
        for kind, offset, length, link in sections:
            if kind not in SYMBOL_TABLES:
                continue
            _, names, names_length, _ = sections[link]
            table = self.content[names : names + names_length]
            for at in range(offset, offset + length, 24):
                name, info, _, section, address, size = struct.unpack_from("<IBBHQQ", self.content, at)
                if section and size and (what := KINDS.get(info & 15)):
                    text = table[name : table.index(b"\0", name)].decode(errors="replace")
                    yield Symbol(address, size, text, what)

    @cached_property
    def _addresses(self) -> list[int]:
        return [symbol.address for symbol in self.symbols]

    def symbol_at(self, address: int) -> Symbol | None:
        """The symbol that an address above the base is in."""
        place = bisect.bisect_right(self._addresses, address) - 1
        # A few symbols of no interest may begin between.
        for symbol in self.symbols[max(place - 3, 0) : place + 1][::-1]:
            if address < symbol.address + symbol.size:
                return symbol
        return None

    def places_of(self, code: bytes, address: int) -> Iterator[int]:
        """Bases at which the file has this code at an address."""
        for segment in self.segments:
            if not segment.executable:
                continue
            # Files are mapped in pages: the place in a page stays.
            first = (address - segment.address) % 4096
            for place in range(first, segment.file_bytes - len(code) + 1, 4096):
                at = segment.offset + place
                if self.content[at : at + len(code)] == code:
                    yield address - segment.address - place
