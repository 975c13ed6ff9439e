"""The leaves of CPUID say what the host file says, read back by the formulas of Intel's and AMD's manuals."""

from __future__ import annotations

import pytest
from cxlab.run import machine
from cxlab.run.host import cpuid

KIB, MIB = 1 << 10, 1 << 20


def leaves(name: str) -> dict[tuple[int, int | None, str], int]:
    """Bits of each register, by leaf, subleaf and register."""
    host = machine.load(name)
    told = cpuid.answers(host.processor, host.cores, host.tsc_hz)
    return {(one.leaf, one.subleaf, one.register): one.bits for one in told}


def size(told: dict[tuple[int, int | None, str], int], leaf: int, subleaf: int) -> int:
    """Intel SDM vol. 2A, CPUID leaf 4: (ways + 1) (partitions + 1) (line + 1) (sets + 1)."""
    ebx, ecx = told[leaf, subleaf, "ebx"], told[leaf, subleaf, "ecx"]
    return ((ebx >> 22) + 1) * ((ebx >> 12 & 0x3FF) + 1) * ((ebx & 0xFFF) + 1) * (ecx + 1)


def test_an_intel_host_tells_its_caches_in_leaf_4() -> None:
    told = leaves("8468v-asic")
    # CXL-DMSim, table I: 48 KiB, 2 MiB, 97.5 MiB; 32 KiB of instructions (Intel 248966)
    assert [size(told, 4, n) for n in range(4)] == [48 * KIB, 32 * KIB, 2 * MIB, 195 * MIB // 2]
    # leaf 4 of a Xeon w9-3475X, which has the same L1D (tests of libcpuid)
    assert (told[4, 0, "ebx"], told[4, 0, "ecx"]) == (0x02C0003F, 0x3F)
    assert [told[4, n, "eax"] & 0x1F for n in range(4)] == [1, 2, 3, 3]
    assert [told[4, n, "eax"] >> 5 & 7 for n in range(4)] == [1, 1, 2, 3]
    # Forty-eight cores share the L3: the numbers of 64.
    assert [(told[4, n, "eax"] >> 14 & 0xFFF) + 1 for n in range(4)] == [1, 1, 1, 64]
    assert told[0xB, 1, "ebx"] == 48


def test_an_intel_host_tells_its_tlbs_in_leaf_18h() -> None:
    told = leaves("8468v-asic")
    count = told[0x18, 0, "eax"] + 1
    arrays = [
        (told[0x18, n, "ebx"] & 0xF, told[0x18, n, "ebx"] >> 16, told[0x18, n, "ecx"], told[0x18, n, "edx"])
        for n in range(count)
    ]
    # Leaf 18h of a Xeon w9-3475X (tests of libcpuid). Large pages of loads have 8 x 4, stores of all sizes
    # have 16, and 128 sets of 8 ways stand twice. The load TLB has 96 entries in 6 ways (Architecture Day
    # 2021).
    small, large, every = 0b0001, 0b0110, 0b1111
    loads, stores, unified, fully, second = 4, 5, 3, 1 << 8, 2 << 5
    assert arrays == [
        (small, 6, 16, loads | 1 << 5),
        (large, 4, 8, loads | 1 << 5),
        (every, 16, 1, stores | 1 << 5 | fully),
        (small | large, 8, 128, unified | second),
        (small, 8, 128, unified | second),
    ]


@pytest.mark.parametrize("name", ["8468v-asic", "5218"])
def test_an_intel_host_tells_its_clocks(name: str) -> None:
    told, hz = leaves(name), machine.load(name).tsc_hz
    # SDM vol. 3B, 20.7.3: TSC frequency = ECX * EBX / EAX
    assert told[0x15, None, "ecx"] * told[0x15, None, "ebx"] == hz * told[0x15, None, "eax"]
    # in MHz, 16 bits
    assert told[0x16, None, "eax"] == hz // 10**6 < 1 << 16


@pytest.mark.parametrize(("name", "level_2"), [("7742", 512 * KIB), ("9754-cz120", MIB)])
def test_an_amd_host_tells_its_caches_in_leaves_of_its_own(name: str, level_2: int) -> None:
    told = leaves(name)
    caches = [size(told, 0x8000_001D, n) for n in range(4)]
    assert caches == [32 * KIB, 32 * KIB, level_2, 256 * MIB]
    # AMD APM vol. 3, E.4.3 and E.4.4: KiB, KiB and 512 KiB in the upper bits
    assert told[0x8000_0005, None, "ecx"] >> 24 == 32
    assert told[0x8000_0006, None, "ecx"] >> 16 == level_2 // KIB
    assert (told[0x8000_0006, None, "edx"] >> 18) * 512 * KIB == 256 * MIB
    # 8 ways: code 6; 16 ways: code 8
    assert (told[0x8000_0006, None, "ecx"] >> 12 & 0xF, told[0x8000_0006, None, "edx"] >> 12 & 0xF) == (6, 8)


@pytest.mark.parametrize(
    ("name", "signature"),
    # Signatures of leaf 1: SPR-SP E5 and CLX-SP B1 (Intel's microcode for Linux), EPYC 7002 and 8004 (AMD)
    [("8468v-asic", 0x806F8), ("5218", 0x50657), ("7742", 0x830F10), ("9754-cz120", 0xAA0F02)],
)
def test_family_model_and_stepping_make_the_signature(name: str, signature: int) -> None:
    host = machine.load(name).processor
    base = min(host.family, 15)
    extended = (host.family - base) << 20 | (host.model >> 4) << 16
    assert extended | base << 8 | (host.model & 15) << 4 | host.stepping == signature
