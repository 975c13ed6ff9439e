"""Write a Redis dump with YCSB's records: `data.py FOLDER records=N seed=N ...` makes FOLDER/dump.rdb.

A record is a hash of ten fields of a hundred letters, as YCSB's Redis binding inserts it. A sorted set has
the names of all records. Redis reads the dump when it starts, which is far quicker than requests.
Format: Redis' rdb.h, version 9 (types 4, a hash, and 5, a sorted set with scores as doubles).
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ycsb_client"))

from records import drawn

HASH, SORTED_SET = b"\x04", b"\x05"
RESIZE, SELECT, END = b"\xfb", b"\xfe", b"\xff"
#: Eight bytes of zero: no checksum.
NO_CHECKSUM = bytes(8)


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
    parts = [b"REDIS0009", SELECT, length(0), RESIZE, length(records + 1), length(0)]
    names = []
    for name, fields in drawn(records, seed):
        names.append(name)
        parts += [HASH, text(name.encode()), length(len(fields))]
        for field, value in fields:
            parts += [text(field), text(value)]
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
