"""The seal of a saved state: what it finds, and what it does not hash again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cxlab.run.host import seal

#: A state of 4 KiB and its time; of both: `(printf '0 '; cat state; printf '4096 123456') | sha256sum`.
STATE, TIME_PS = bytes(range(256)) * 16, 123_456
SHA256 = "a2145ddf5e33a2917f73a49954d7d55c2d7561dfea09e71d7f08630b1e235bfd"
MIB = 1 << 20


@pytest.fixture
def state(tmp_path: Path) -> Path:
    file = tmp_path / "state"
    file.write_bytes(STATE)
    return file


@pytest.fixture
def descriptor(state: Path) -> Iterator[int]:
    opened = os.open(state, os.O_RDONLY)
    seal.seal(state.parent, opened, TIME_PS)
    yield opened
    os.close(opened)


def test_the_checksum_is_of_the_state_and_its_time(state: Path, descriptor: int) -> None:
    assert seal.Seal.read(state.parent).sha256 == SHA256
    seal.check(state.parent, descriptor, TIME_PS)
    # QEMU reads from where the descriptor stands.
    assert os.read(descriptor, MIB) == STATE


@pytest.mark.parametrize("place", [0, 7, 2_048 * 8 + 3, 4_096 * 8 - 1])
def test_another_bit_is_found(state: Path, descriptor: int, place: int) -> None:
    damaged = bytearray(STATE)
    damaged[place // 8] ^= 1 << place % 8
    state.write_bytes(damaged)
    with pytest.raises(seal.Damaged, match="is damaged: its checksum is another"):
        seal.check(state.parent, descriptor, TIME_PS)


@pytest.mark.parametrize("damaged", [STATE[:-1], STATE + b"0", STATE + bytes(MIB), b""])
def test_another_length_is_found(state: Path, descriptor: int, damaged: bytes) -> None:
    state.write_bytes(damaged)
    with pytest.raises(seal.Damaged):
        seal.check(state.parent, descriptor, TIME_PS)


def test_another_time_is_found(state: Path, descriptor: int) -> None:
    with pytest.raises(seal.Damaged):
        seal.check(state.parent, descriptor, TIME_PS + 1)


def test_a_file_that_nobody_wrote_is_not_read(
    state: Path, descriptor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bytes:
        raise AssertionError("it was read")

    monkeypatch.setattr(seal.os, "pread", refuse)
    seal.check(state.parent, descriptor, TIME_PS)


def test_a_copy_is_read_once_and_sealed_anew(state: Path, descriptor: int, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "state").write_bytes(STATE)
    (copy / seal.SEAL).write_bytes((state.parent / seal.SEAL).read_bytes())
    opened = os.open(copy / "state", os.O_RDONLY)
    try:
        seal.check(copy, opened, TIME_PS)
        assert seal.Seal.read(copy).file == seal.Identity.of(opened) != seal.Identity.of(descriptor)
    finally:
        os.close(opened)


def test_holes_and_zeros_are_the_same(tmp_path: Path) -> None:
    """A copy has zeros in place of holes: it is the same state."""
    pieces = {0: b"a" * 10, 3 * MIB + 5: b"b" * MIB, 9 * MIB - 1: b"c", 12 * MIB: b"d" * (2 * MIB + 1)}
    size = 40 * MIB + 3
    digests = set()
    for name in ("holes", "zeros"):
        with (tmp_path / name).open("wb+") as file:
            if name == "zeros":
                file.write(bytes(size))
            file.truncate(size)
            for at, piece in pieces.items():
                os.pwrite(file.fileno(), piece, at)
            digests.add(seal.digest(file.fileno(), TIME_PS))
    assert len(digests) == 1


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "cxlab-seal 9"}', '{"format": "cxlab-seal 1"}'])
def test_a_seal_that_cannot_be_read_says_so(state: Path, descriptor: int, text: str) -> None:
    (state.parent / seal.SEAL).write_text(text)
    with pytest.raises(seal.Damaged, match=str(state.parent / seal.SEAL)):
        seal.check(state.parent, descriptor, TIME_PS)


def test_a_seal_says_its_format(state: Path, descriptor: int) -> None:
    assert json.loads((state.parent / seal.SEAL).read_text())["format"] == "cxlab-seal 1"
