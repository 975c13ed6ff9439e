"""Write a Redis dump with YCSB's records: `data.py FOLDER records=N seed=N ...` makes FOLDER/dump.rdb.

A record is a hash of ten fields of a hundred letters, as YCSB's Redis binding inserts it. A sorted set has
the names of all records.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ycsb_client"))

import redis_dump
from records import drawn


def java_hash(name: str) -> int:
    """String.hashCode of Java, which YCSB takes as the score."""
    found = 0
    for letter in name:
        found = (31 * found + ord(letter)) % 2**32
    return found - 2**32 if found >= 2**31 else found


def dump(records: int, seed: int) -> bytes:
    """The whole file."""
    all_records = list(drawn(records, seed))
    entries = [redis_dump.hash_of(name.encode(), fields) for name, fields in all_records]
    scores = [(name.encode(), java_hash(name)) for name, _ in all_records]
    entries.append(redis_dump.sorted_set(b"_indices", scores))
    return redis_dump.dump(entries, len(entries))


def main() -> None:
    """Write the dump."""
    folder, *values = sys.argv[1:]
    asked = dict(value.split("=", 1) for value in values)
    (Path(folder) / "dump.rdb").write_bytes(dump(int(asked["records"]), int(asked["seed"])))


if __name__ == "__main__":
    main()
