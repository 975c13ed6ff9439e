"""Answers of CPUID in the guest: the host file's vendor, caches, TLBs, cores and clocks.

::

    vendor, family, model, stepping, brand --> properties of QEMU's processor
    caches, TLBs, cores, clocks            --> answers that the plugin gives in QEMU's place (its cpuid.rs)

Intel: leaves 1, 2, 4, Bh, 15h, 16h and 18h (SDM vol. 2A, CPUID). AMD: leaves 8000_0001h, 8000_0005h,
8000_0006h, 8000_0008h and 8000_001Dh (APM vol. 3, appendix E). A guest has some of the host's cores. Counts
of cores are the host's, as on a server whose other cores are off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from cxlab.border import CacheFigures, ProcessorFigures, TlbFigures

LINE = 64
#: A host file has no cache of instructions (MOD-2). Skylake and Golden Cove (Intel 248966), Zen 2 and Zen 4
#: (AMD 56305 and 57647) all have 32 KiB in 8 ways.
INSTRUCTION_CACHE = CacheFigures(bytes=32 << 10, ways=8)
VENDORS = {"intel": "GenuineIntel", "amd": "AuthenticAMD"}
ALL_BITS = 0xFFFF_FFFF
#: Intel's types of caches (leaf 4) and of TLBs (leaf 18h)
DATA, INSTRUCTIONS, UNIFIED = 1, 2, 3
TLB_DATA, TLB_UNIFIED, TLB_LOADS, TLB_STORES = 1, 3, 4, 5
#: sizes of pages in leaf 18h: 4 KiB; 2 and 4 MiB; all
SMALL, LARGE, ALL_SIZES = 0b0001, 0b0110, 0b1111
#: AMD's codes of associativity in 8000_0006h: the fewest ways that each stands for
AMD_WAYS = (
    (128, 14),
    (96, 13),
    (64, 12),
    (48, 11),
    (32, 10),
    (16, 8),
    (8, 6),
    (6, 5),
    (4, 4),
    (2, 2),
    (1, 1),
)
AMD_FULLY = 0xF
#: QEMU's APIC counts nanoseconds (hw/intc/apic.c), and leaf 15h is where Linux takes its clock from. Silicon
#: has a crystal of 25 MHz there, and another ratio: their product is the same.
APIC_HZ = 1_000_000_000
#: features that only AMD's processors have, and QEMU's gives any vendor
OF_AMD = ("3dnow", "3dnowext", "mmxext", "sse4a", "svm", "cmp-legacy", "cr8legacy")


@dataclass(frozen=True)
class Answer:
    """Bits of one register that one leaf answers."""

    leaf: int
    #: None: the leaf has no subleaves
    subleaf: int | None
    register: str
    bits: int
    mask: int = ALL_BITS

    def __str__(self) -> str:
        """Write the answer as the plugin reads it."""
        subleaf = "*" if self.subleaf is None else f"{self.subleaf:x}"
        return f"{self.leaf:x}:{subleaf}:{self.register}:{self.mask:x}:{self.bits:x}"


def properties(processor: ProcessorFigures) -> tuple[str, ...]:
    """Properties of QEMU's processor."""
    own = (
        f"vendor={VENDORS[processor.vendor]}",
        f"family={processor.family}",
        f"model={processor.model}",
        f"stepping={processor.stepping}",
        "model-id=" + processor.brand.replace(",", ",,"),
    )
    if processor.vendor == "intel":
        return (*own, "min-level=24", *(f"{feature}=off" for feature in OF_AMD))
    return (*own, "min-xlevel=0x8000001e")


def answers(processor: ProcessorFigures, cores: int, tsc_hz: int) -> list[Answer]:
    """Return the plugin's answers, on a host of so many cores."""
    if processor.vendor == "amd":
        return [*_cores(cores), *_amd(processor, cores)]
    return [*_cores(cores), *_intel(processor, cores), *_clocks(tsc_hz)]


def _cores(cores: int) -> Iterator[Answer]:
    """Leaf 1: that there are several, and how many; leaf Bh: those of the package."""
    yield Answer(1, None, "ebx", min(255, _ids(cores)) << 16, 0xFF << 16)
    yield Answer(1, None, "edx", 1 << 28, 1 << 28)
    yield Answer(0xB, 1, "ebx", cores, 0xFFFF)


def _intel(processor: ProcessorFigures, cores: int) -> Iterator[Answer]:
    # Descriptors of leaf 2: TLBs are in leaf 18h, caches in leaf 4, a prefetch fetches 64 bytes.
    for register, descriptors in (("eax", 0x00FE_FF01), ("ebx", 0xF0), ("ecx", 0), ("edx", 0)):
        yield Answer(2, None, register, descriptors)
    for subleaf, (level, kind, cache) in enumerate(_caches(processor)):
        shared = _ids(cores) if level == 3 else 1
        eax = kind | level << 5 | 1 << 8 | (shared - 1) << 14 | min(63, _ids(cores) - 1) << 26
        # The slice of a line is a hash of its address.
        yield from _geometry(4, subleaf, eax, cache, complex_index=level == 3)
    yield from _tlbs(processor)


def _clocks(tsc_hz: int) -> Iterator[Answer]:
    """Leaves 15h and 16h. Without them Linux counts turns of a loop for 0.1 s, which takes QEMU two."""
    shared = math.gcd(tsc_hz, APIC_HZ)
    yield Answer(0x15, None, "eax", APIC_HZ // shared)
    yield Answer(0x15, None, "ebx", tsc_hz // shared)
    yield Answer(0x15, None, "ecx", APIC_HZ)
    yield Answer(0x16, None, "eax", tsc_hz // 1_000_000)


def _tlbs(processor: ProcessorFigures) -> Iterator[Answer]:
    """Leaf 18h, an array in each subleaf. The ways that large pages may not use have one of their own."""
    large, stores = processor.large_load_tlb, processor.store_tlb
    loads = TLB_DATA if stores is None else TLB_LOADS
    rows = [(1, loads, *part) for part in _parts(processor.load_tlb)]
    if large is not None:
        rows.append((1, loads, LARGE, large.ways, large.entries // large.ways))
    if stores is not None:
        rows += [(1, TLB_STORES, *part) for part in _parts(stores)]
    rows += [(2, TLB_UNIFIED, *part) for part in _parts(processor.second_tlb)]
    for subleaf, (level, kind, sizes, ways, sets) in enumerate(rows):
        fully = 1 << 8 if sets == 1 else 0
        yield Answer(0x18, subleaf, "eax", len(rows) - 1 if subleaf == 0 else 0)
        yield Answer(0x18, subleaf, "ebx", sizes | ways << 16)
        yield Answer(0x18, subleaf, "ecx", sets)
        yield Answer(0x18, subleaf, "edx", kind | level << 5 | fully)


def _parts(array: TlbFigures) -> Iterator[tuple[int, int, int]]:
    """Sizes of pages, ways and sets of an array's parts."""
    sets = array.entries // array.ways
    if array.large_ways:
        yield (ALL_SIZES if array.large_ways == array.ways else SMALL | LARGE), array.large_ways, sets
    if array.large_ways < array.ways:
        yield SMALL, array.ways - array.large_ways, sets


def _amd(processor: ProcessorFigures, cores: int) -> Iterator[Answer]:
    first, second, last = processor.load_tlb, processor.second_tlb, processor.llc
    large = processor.large_load_tlb or first
    # TopologyExtensions: leaf 8000_001Dh is there. Without it Linux takes the L3 to be each core's own.
    yield Answer(0x8000_0001, None, "ecx", 1 << 22, 1 << 22)
    # The host file has no TLB of instructions (MOD-2): those halves say 0.
    yield Answer(0x8000_0005, None, "eax", _first_tlb(large))
    yield Answer(0x8000_0005, None, "ebx", _first_tlb(first))
    for register, cache in (("ecx", processor.l1), ("edx", INSTRUCTION_CACHE)):
        bits = (cache.bytes >> 10) << 24 | cache.ways << 16 | 1 << 8 | LINE
        yield Answer(0x8000_0005, None, register, bits)
    for register in ("eax", "ebx"):
        bits = _amd_ways(second.ways, second.entries) << 28 | min(4095, second.entries) << 16
        yield Answer(0x8000_0006, None, register, bits)
    level_2 = (processor.l2.bytes >> 10) << 16 | _amd_ways(processor.l2.ways) << 12 | 1 << 8 | LINE
    yield Answer(0x8000_0006, None, "ecx", level_2)
    yield Answer(
        0x8000_0006, None, "edx", (last.bytes >> 19) << 18 | _amd_ways(last.ways) << 12 | 1 << 8 | LINE
    )
    yield Answer(0x8000_0008, None, "ecx", cores - 1, 0xFF)
    for subleaf, (level, kind, cache) in enumerate(_caches(processor)):
        shared = cores if level == 3 else 1
        yield from _geometry(0x8000_001D, subleaf, kind | level << 5 | 1 << 8 | (shared - 1) << 14, cache)


def _first_tlb(array: TlbFigures) -> int:
    """The half of 8000_0005h for data: ways (FFh: all), entries."""
    return (0xFF if array.ways == array.entries else array.ways) << 24 | min(255, array.entries) << 16


def _amd_ways(ways: int, entries: int | None = None) -> int:
    if ways == entries:
        return AMD_FULLY
    return next(code for least, code in AMD_WAYS if ways >= least)


def _caches(processor: ProcessorFigures) -> tuple[tuple[int, int, CacheFigures], ...]:
    """Level, type and geometry, in the order of subleaves."""
    return (
        (1, DATA, processor.l1),
        (1, INSTRUCTIONS, INSTRUCTION_CACHE),
        (2, UNIFIED, processor.l2),
        (3, UNIFIED, processor.llc),
    )


def _geometry(
    leaf: int, subleaf: int, eax: int, cache: CacheFigures, *, complex_index: bool = False
) -> Iterator[Answer]:
    yield Answer(leaf, subleaf, "eax", eax)
    yield Answer(leaf, subleaf, "ebx", (LINE - 1) | (cache.ways - 1) << 22)
    yield Answer(leaf, subleaf, "ecx", cache.bytes // (LINE * cache.ways) - 1)
    yield Answer(leaf, subleaf, "edx", 1 << 2 if complex_index else 0)


def _ids(cores: int) -> int:
    """Numbers that fit into the bits of a core's number."""
    return 1 << (cores - 1).bit_length()
