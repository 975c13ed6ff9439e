"""Finds which file is where in a program's memory, by the code that was executed.

Nothing in the guest says so. A file of this host is at a base if the executed code is there in the file.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cxlab.elf import Elf, Symbol
from cxlab.run.results import libraries
from cxlab.top.profile import Profile, Profiled

#: Shorter code can be anywhere [bytes].
TELLING = 8


@dataclass(frozen=True)
class Loaded:
    """A file at its base."""

    elf: Elf
    base: int

    @property
    def name(self) -> str:
        """Return the file's name in tables."""
        return self.elf.path.name

    def has(self, address: int) -> bool:
        """Whether the address is in one of its segments, to whole pages."""
        for segment in self.elf.segments:
            first = self.base + segment.address
            if first <= address < -(-(first + segment.memory_bytes) // 4096) * 4096:
                return True
        return False

    def symbol_at(self, address: int) -> Symbol | None:
        """The function or variable at an address."""
        return self.elf.symbol_at(address - self.base)


def candidates(profiled: Profiled, more: Iterable[Path] = ()) -> list[Elf]:
    """The program, its interpreter if it is a script, what the loader reads for them, and `more`."""
    files = [*more]
    if profiled.argv:
        name = profiled.argv[0]
        found = str(profiled.folder / name) if "/" in name else shutil.which(name)
        if found is not None:
            files.append(Path(found))
    read = (path for file in files for path in (str(file), *libraries.loaded(str(file), os.environ)))
    return [elf for path in dict.fromkeys(read) if (elf := Elf.read(Path(path))) is not None]


def loaded(profile: Profile, elves: Sequence[Elf]) -> list[Loaded]:
    """The files that the executed code is of, each where most of its code fits."""
    votes: dict[Elf, Counter[int]] = {}
    for address, text in profile.code:
        code = bytes.fromhex(text)
        if len(code) < TELLING:
            continue
        for elf in elves:
            votes.setdefault(elf, Counter()).update(elf.places_of(code, address))
    found = []
    for elf, bases in votes.items():
        if bases:
            base, _ = bases.most_common(1)[0]
            found.append(Loaded(elf, base))
    return found
