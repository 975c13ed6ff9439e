"""ELF files: where their segments and symbols are; 64 bits, little endian.

Source: System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

LOAD, EXECUTABLE = 1, 1
SYMBOL_TABLES = (2, 11)
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


@dataclass(frozen=True, eq=False)
class Elf:
    """One file."""

    path: Path
    content: bytes

    @classmethod
    def read(cls, path: Path) -> Elf | None:
        """The file; None if it is no ELF file of 64 bits."""
        try:
            content = path.read_bytes()
        except OSError:
            return None
        return cls(path, content) if content[:6] == b"\x7fELF\x02\x01" and len(content) >= 64 else None

    @cached_property
    def segments(self) -> Sequence[Segment]:
        """What is loaded."""
        (begin,) = struct.unpack_from("<Q", self.content, 32)
        size, count = struct.unpack_from("<HH", self.content, 54)
        found = []
        for place in range(count):
            kind, flags, offset, address, _, in_file, in_memory, _ = struct.unpack_from(
                "<IIQQQQQQ", self.content, begin + place * size
            )
            if kind == LOAD:
                found.append(Segment(offset, address, in_file, in_memory, bool(flags & EXECUTABLE)))
        return found

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
        """Functions and data, in the order of their addresses."""
        sections = list(self._sections())
        found = set()
        for kind, offset, length, link in sections:
            if kind not in SYMBOL_TABLES:
                continue
            _, names, names_length, _ = sections[link]
            table = self.content[names : names + names_length]
            for at in range(offset, offset + length, 24):
                name, info, _, section, address, size = struct.unpack_from("<IBBHQQ", self.content, at)
                if section and size and (what := KINDS.get(info & 15)):
                    text = table[name : table.index(b"\0", name)].decode(errors="replace")
                    found.add(Symbol(address, size, text, what))
        return sorted(found)

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
