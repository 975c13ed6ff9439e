"""Write YCSB's records into a RocksDB: `data.py FOLDER records=N seed=N ...` makes FOLDER/flash.

A record has the name that YCSB gives it and ten fields of a hundred letters, as flash.c reads them. Debian's
librocksdb writes the files, with the options of flash.c that say how a file looks.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ycsb_client"))

from records import drawn

LIBRARY = "librocksdb.so.7.8"
BLOCK_BYTES = 16384
#: RocksDB's kNoChecksum, kDataBlockBinaryAndHash and kNoCompression.
NO_CHECKSUM, BINARY_AND_HASH, NO_COMPRESSION = 0, 1, 0
#: One memtable takes all records, so that one compaction writes them.
WRITE_BUFFER_BYTES = 1 << 30


def value(fields: list[tuple[bytes, bytes]]) -> bytes:
    """The fields of a record, each with two lengths of 16 bits before it."""
    return b"".join(struct.pack("<HH", len(name), len(of)) + name + of for name, of in fields)


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
    for name, fields in drawn(records, seed) if error.value is None else ():
        parts = name.encode(), value(fields)
        sizes = [ctypes.c_size_t(len(part)) for part in parts]
        library.rocksdb_put(database, writes, parts[0], sizes[0], parts[1], sizes[1], ctypes.byref(error))
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
