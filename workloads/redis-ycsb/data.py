"""Write a Redis dump with YCSB's records: `data.py FOLDER records=N seed=N ...` makes FOLDER/dump.rdb.

A record is a hash of ten fields of a hundred letters, as YCSB's Redis binding inserts it. A sorted set has
the names of all records. Redis reads the dump when it starts, which is far quicker than requests.
Format: Redis' rdb.h, version 9 (types 4, a hash, and 5, a sorted set with scores as doubles).
"""

from __future__ import annotations

import random
import string
import struct
import sys
from pathlib import Path

FIELDS, FIELD_BYTES = 10, 100
HASH, SORTED_SET = b"\x04", b"\x05"
RESIZE, SELECT, END = b"\xfb", b"\xfe", b"\xff"
#: Eight bytes of zero: no checksum.
NO_CHECKSUM = bytes(8)


def fnv_hash(value: int) -> int:
    """YCSB's hash of a record's number: FNV-1a over eight bytes, without the sign."""
    found = 0xCBF29CE484222325
    for byte in value.to_bytes(8, "little"):
        found = (found ^ byte) * 1099511628211 % 2**64
    return 2**64 - found if found >= 2**63 else found


def java_hash(name: str) -> int:
    """String.hashCode of Java, which YCSB takes as the score."""
    found = 0
    for letter in name:
        found = (31 * found + ord(letter)) % 2**32
    return found - 2**32 if found >= 2**31 else found


def length(value: int) -> bytes:
    """A length as a dump has it: 6, 14 or 32 bits."""
    if value < 1 << 6:
        return bytes([value])
    return struct.pack(">H", 0x4000 | value) if value < 1 << 14 else b"\x80" + struct.pack(">I", value)


def text(of: bytes) -> bytes:
    """A string, behind its length."""
    return length(len(of)) + of


def dump(records: int, seed: int) -> bytes:
    """The whole file."""
    drawn = random.Random(seed)
    letters = "".join(drawn.choices(string.ascii_lowercase, k=1 << 16)).encode()
    parts = [b"REDIS0009", SELECT, length(0), RESIZE, length(records + 1), length(0)]
    names = [f"user{fnv_hash(number)}" for number in range(records)]
    for name in names:
        parts += [HASH, text(name.encode()), length(FIELDS)]
        for field in range(FIELDS):
            begin = drawn.randrange(len(letters) - FIELD_BYTES)
            parts += [text(b"field%d" % field), text(letters[begin : begin + FIELD_BYTES])]
    parts += [SORTED_SET, text(b"_indices"), length(records)]
    for name in names:
        parts += [text(name.encode()), struct.pack("<d", java_hash(name))]
    return b"".join([*parts, END, NO_CHECKSUM])


def main() -> None:
    """Write the dump."""
    folder, *values = sys.argv[1:]
    asked = dict(value.split("=", 1) for value in values)
    (Path(folder) / "dump.rdb").write_bytes(dump(int(asked["records"]), int(asked["seed"])))


if __name__ == "__main__":
    main()
