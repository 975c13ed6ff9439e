"""Addresses with names: the function and line of an instruction, the variable or allocation of data."""

from __future__ import annotations

import bisect
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cxlab.elf import DATA
from cxlab.top.objects import Loaded
from cxlab.top.pieces import Piece, pieces
from cxlab.top.profile import Profile, Touch

KERNEL = "[kernel]"
STACK = "[stack]"
#: With randomisation off, Linux's stacks of programs end at 0x7fffffffffff and grow to 8 MiB (x86_64 mm.rst).
STACK_BEGINS = 0x7FFFFF000000
#: Functions that give memory: who called one of them is the site.
ALLOCATORS = re.compile(
    r"(__libc_|mi_|je_|tc_)?(malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|valloc"
    r"|pvalloc|mmap(64)?)|_Zn[wa]m.*"
)


@dataclass(frozen=True)
class Frame:
    """A function, by its name and file."""

    name: str
    #: the file it is in
    object: str = ""


@dataclass
class Names:
    """Names of the addresses of a profile."""

    profile: Profile
    loaded: Sequence[Loaded]
    #: what addr2line said
    lines: dict[int, str] = field(default_factory=dict)

    def object_of(self, address: int) -> Loaded | None:
        """The file that the address is in."""
        return next((one for one in self.loaded if one.has(address)), None)

    def frame(self, address: int) -> Frame:
        """The function at an address."""
        if address >> 63:
            return Frame(KERNEL)
        where = self.object_of(address)
        if where is None:
            return Frame(f"{address:#x}")
        symbol = where.symbol_at(address)
        name = f"{where.name}+{address - where.base:#x}" if symbol is None else symbol.name
        return Frame(name, where.name)

    def stack(self, context: int, instruction: int) -> list[Frame]:
        """Functions from the outermost to that of an instruction."""
        calls = [self.frame(returns_to - 1) for returns_to in self.profile.calls(context)]
        frames = [*calls[::-1], self.frame(instruction)]
        return [frame for place, frame in enumerate(frames) if not place or frame != frames[place - 1]]

    def find_lines(self, addresses: Iterable[int]) -> None:
        """Ask addr2line for the lines of instructions; without it, or debug information, there are none."""
        asked: dict[Loaded, list[int]] = defaultdict(list)
        for address in set(addresses) - self.lines.keys():
            if not address >> 63 and (where := self.object_of(address)):
                asked[where].append(address)
        for where, of_object in asked.items():
            offsets = "\n".join(f"{address - where.base:#x}" for address in of_object)
            command = ["addr2line", "-s", "-e", str(where.elf.path)]
            try:
                done = subprocess.run(command, input=offsets, capture_output=True, text=True, check=False)
            except OSError:
                return
            for address, line in zip(of_object, done.stdout.splitlines(), strict=False):
                place = line.partition(" (")[0]
                if not place.startswith("?") and not place.endswith((":0", ":?")):
                    self.lines[address] = place

    def with_line(self, address: int) -> str:
        """Function and line."""
        line = self.lines.get(address)
        return self.frame(address).name + ("" if line is None else f" ({line})")

    # ---- data

    @cached_property
    def _pieces(self) -> list[Piece]:
        return pieces(self.profile.touched)

    @cached_property
    def _begins(self) -> list[int]:
        """Where each piece begins: each entry of the profile looks into it."""
        return [piece.begin for piece in self._pieces]

    @cached_property
    def _sites(self) -> list[tuple[str, int]]:
        """Site of each piece: what is known of its allocation, and the site's address."""
        sites: list[tuple[str, int]] = []
        end: int | None = None
        for piece in self._pieces:
            allocated = self._allocation(piece.touch)
            if allocated is None and piece.begin == end and sites[-1][0] == "allocated":
                sites.append(sites[-1])
            elif allocated is None:
                sites.append(("first touched", self._toucher(piece.touch)))
            else:
                sites.append(("allocated", allocated))
            end = piece.end
        self.find_lines(address for _, address in sites)
        return sites

    def _user_chain(self, touch: Touch) -> list[int]:
        """Addresses of the program's frames, the innermost first."""
        chain = [touch.instruction, *(returns_to - 1 for returns_to in self.profile.calls(touch.context))]
        return [address for address in chain if not address >> 63]

    def _allocation(self, touch: Touch) -> int | None:
        """Return the caller of the allocator that touched the page; None if none did."""
        chain = self._user_chain(touch)
        outermost = None
        for place, address in enumerate(chain):
            if ALLOCATORS.fullmatch(self.frame(address).name):
                outermost = place
        if outermost is None or outermost + 1 == len(chain):
            return None
        return chain[outermost + 1]

    def _toucher(self, touch: Touch) -> int:
        chain = self._user_chain(touch)
        return chain[0] if chain else touch.instruction

    def data(self, address: int) -> str:
        """Name the data at an address: a variable, or memory by its allocation."""
        if address >> 63:
            return KERNEL
        if address >= STACK_BEGINS:
            return STACK
        if (where := self.object_of(address)) is not None:
            symbol = self._variable(where, address)
            return f"{symbol} ({where.name})" if symbol else f"data of {where.name}"
        place = bisect.bisect_right(self._begins, address) - 1
        if place < 0 or address >= self._pieces[place].end:
            return "memory touched before"
        how, site = self._sites[place]
        return f"{how} in {self.with_line(site)}"

    def _variable(self, where: Loaded, address: int) -> str | None:
        """A variable in the granule of the address."""
        for at in range(address, address + self.profile.granule_bytes, 8):
            symbol = where.symbol_at(at)
            if symbol is not None and symbol.kind == DATA:
                return symbol.name
        return None
