"""Draw YCSB's records: a name, and ten fields of a hundred letters."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator

FIELDS, FIELD_BYTES = 10, 100


def fnv_hash(value: int) -> int:
    """YCSB's hash of a record's number: FNV-1a over eight bytes, without the sign."""
    found = 0xCBF29CE484222325
    for byte in value.to_bytes(8, "little"):
        found = (found ^ byte) * 1099511628211 % 2**64
    return 2**64 - found if found >= 2**63 else found


def drawn(count: int, seed: int) -> Iterator[tuple[str, list[tuple[bytes, bytes]]]]:
    """The name of each record, and the names and values of its fields."""
    draws = random.Random(seed)
    letters = "".join(draws.choices(string.ascii_lowercase, k=1 << 16)).encode()
    for number in range(count):
        begins = [draws.randrange(len(letters) - FIELD_BYTES) for _ in range(FIELDS)]
        fields = [
            (b"field%d" % field, letters[begin : begin + FIELD_BYTES]) for field, begin in enumerate(begins)
        ]
        yield f"user{fnv_hash(number)}", fields
