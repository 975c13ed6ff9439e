"""What the demonstration runs: a table too large for any cache, scanned once, then looked up at random."""

import os

TABLE_BYTES = 128 << 20
LOOKUPS = 1 << 17

table = bytearray(TABLE_BYTES)
found = table.find(b"\1")
# Random row numbers below 2^27, little-endian.
rows = bytearray(os.urandom(4 * LOOKUPS))
rows[3::4] = rows[3::4].translate(bytes(byte % 8 for byte in range(256)))
total = sum(map(table.__getitem__, memoryview(rows).cast("I")))
print(f"{TABLE_BYTES >> 20} MiB scanned, {LOOKUPS:,} rows looked up: sum {total}, found at {found}")
