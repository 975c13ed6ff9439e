"""Write YCSB's records into a RocksDB: `data.py FOLDER records=N seed=N ...` makes FOLDER/flash.

A record has the name that YCSB gives it and ten fields of a hundred letters, as flash.c reads them. Debian's
librocksdb writes the files, with the options of flash.c that say how a file looks.
"""

from __future__ import annotations

import ctypes
import random
import string
import struct
import sys
from pathlib import Path

FIELDS, FIELD_BYTES = 10, 100
LIBRARY = "librocksdb.so.7.8"
BLOCK_BYTES = 16384
#: RocksDB's kNoChecksum, kDataBlockBinaryAndHash and kNoCompression.
NO_CHECKSUM, BINARY_AND_HASH, NO_COMPRESSION = 0, 1, 0
#: One memtable takes all records, so that one compaction writes them.
WRITE_BUFFER_BYTES = 1 << 30


def fnv_hash(value: int) -> int:
    """YCSB's hash of a record's number: FNV-1a over eight bytes, without the sign."""
    found = 0xCBF29CE484222325
    for byte in value.to_bytes(8, "little"):
        found = (found ^ byte) * 1099511628211 % 2**64
    return 2**64 - found if found >= 2**63 else found


def value(drawn: random.Random, letters: bytes) -> bytes:
    """The fields of a record, each with two lengths of 16 bits before it."""
    parts = []
    for field in range(FIELDS):
        begin = drawn.randrange(len(letters) - FIELD_BYTES)
        name = b"field%d" % field
        parts += [struct.pack("<HH", len(name), FIELD_BYTES), name, letters[begin : begin + FIELD_BYTES]]
    return b"".join(parts)


def write(folder: Path, records: int, seed: int) -> None:
    """Make the database and compact it, so that each record is in one place of one level."""
    library = ctypes.CDLL(LIBRARY)

    def made(what: str) -> ctypes.c_void_p:
        create = getattr(library, f"rocksdb_{what}_create")
        create.restype = ctypes.c_void_p
        return ctypes.c_void_p(create())

    options, table, writes = made("options"), made("block_based_options"), made("writeoptions")
    library.rocksdb_block_based_options_set_block_size(table, ctypes.c_size_t(BLOCK_BYTES))
    library.rocksdb_block_based_options_set_checksum(table, ctypes.c_char(NO_CHECKSUM))
    library.rocksdb_block_based_options_set_format_version(table, 4)
    library.rocksdb_block_based_options_set_data_block_index_type(table, BINARY_AND_HASH)
    library.rocksdb_options_set_block_based_table_factory(options, table)
    library.rocksdb_options_set_compression(options, NO_COMPRESSION)
    library.rocksdb_options_set_create_if_missing(options, ctypes.c_ubyte(1))
    library.rocksdb_options_set_write_buffer_size(options, ctypes.c_size_t(WRITE_BUFFER_BYTES))
    library.rocksdb_writeoptions_disable_WAL(writes, 1)
    library.rocksdb_open.restype = ctypes.c_void_p
    error = ctypes.c_char_p()
    database = ctypes.c_void_p(library.rocksdb_open(options, str(folder).encode(), ctypes.byref(error)))
    drawn = random.Random(seed)
    letters = "".join(drawn.choices(string.ascii_lowercase, k=1 << 16)).encode()
    for number in range(records) if error.value is None else ():
        key, fields = f"user{fnv_hash(number)}".encode(), value(drawn, letters)
        sizes = [ctypes.c_size_t(len(part)) for part in (key, fields)]
        library.rocksdb_put(database, writes, key, sizes[0], fields, sizes[1], ctypes.byref(error))
    if error.value is not None:
        sys.exit(f"RocksDB: {error.value.decode()}")
    library.rocksdb_compact_range(database, None, ctypes.c_size_t(0), None, ctypes.c_size_t(0))
    library.rocksdb_close(database)


def main() -> None:
    """Write the database."""
    folder, *values = sys.argv[1:]
    asked = dict(value.split("=", 1) for value in values)
    write(Path(folder) / "flash", int(asked["records"]), int(asked["seed"]))


if __name__ == "__main__":
    main()
