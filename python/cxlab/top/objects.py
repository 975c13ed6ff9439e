"""Which file is where in a program's memory: found by the code that was executed.

Nothing in the guest says so. A file of this host is at a base if the executed code is there in the file.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cxlab.top.elf import Elf, Symbol
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
        """As tables have it."""
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


def _libraries(file: Path) -> list[Path]:
    """What the loader would load with a file, by ldd(1)."""
    try:
        said = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=False).stdout
    except OSError:
        return []
    return [Path(found) for found in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", said, re.MULTILINE)]


def candidates(profiled: Profiled, more: Iterable[Path] = ()) -> list[Elf]:
    """The program, its interpreter if it is a script, their libraries, and `more`."""
    files = [*more]
    if profiled.argv:
        name = profiled.argv[0]
        found = str(profiled.folder / name) if "/" in name else shutil.which(name)
        if found is not None:
            files += _with_interpreter(Path(found))
    every = dict.fromkeys(path for file in files for path in (file, *_libraries(file)))
    return [elf for path in every if (elf := Elf.read(path)) is not None]


def _with_interpreter(program: Path) -> list[Path]:
    try:
        with program.open("rb") as opened:
            line = opened.readline(256)
    except OSError:
        return []
    words = line[2:].split() if line.startswith(b"#!") else []
    if not words:
        return [program]
    interpreter = Path(words[0].decode(errors="replace"))
    if interpreter.name == "env" and len(words) > 1 and (found := shutil.which(words[1].decode())):
        interpreter = Path(found)
    return [interpreter]


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
