"""Time torch's EmbeddingBag: `bag.py ROWS QUERIES PER_QUERY WARM SKEW SEED`, with OMP_NUM_THREADS threads.

A row is 64 floats, as in MERCI. A query adds up PER_QUERY rows. SKEW is the exponent of Zipf's law that draws
them, in hundredths, and 0 draws all rows alike. Each thread has QUERIES queries, and WARM more before these.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

import torch

DIMENSION = 64
#: Values repeat after so many rows. They are whole numbers, so each order of additions gives the same sum.
PERIOD = 101


def made(rows: int) -> torch.Tensor:
    """Make the table: rows x DIMENSION."""
    row, place = torch.arange(PERIOD).unsqueeze(1), torch.arange(DIMENSION)
    values = ((row * 7 + place * 13) % PERIOD).float()
    return values.repeat(rows // PERIOD + 1, 1)[:rows].contiguous()


def drawn(count: int, rows: int, skew: float) -> torch.Tensor:
    """Draw rows by the inverse of Zipf's integral; ranks are spread over the table."""
    if skew == 0:
        return torch.randint(rows, (count,))
    part, rest = torch.rand(count, dtype=torch.float64), 1 - skew
    most = float(rows + 1)
    rank = most**part if rest == 0 else (1 + part * (most**rest - 1)) ** (1 / rest)
    return (rank.long() - 1) * 2654435761 % rows


def main() -> int:
    """Measure and check."""
    rows, queries, per_query, warm, skew, seed = (int(word) for word in sys.argv[1:])
    threads = torch.get_num_threads()
    torch.manual_seed(seed)
    table = made(rows)
    bag = torch.nn.EmbeddingBag.from_pretrained(table, mode="sum")
    before, asked = (drawn(count * threads * per_query, rows, skew / 100) for count in (warm, queries))
    starts_before, starts = (torch.arange(0, len(items), per_query) for items in (before, asked))
    region = ctypes.CDLL(f"{os.environ['WORKLOAD_BUILD']}/program")
    with torch.no_grad():
        region.begin()
        bag(before, starts_before)
        begun = time.perf_counter()
        sums = bag(asked, starts)
        seconds = time.perf_counter() - begun
        region.end()
    # Each seventh query, by another way than the layer's.
    for query in range(0, len(starts), 7):
        items = asked[query * per_query : (query + 1) * per_query]
        if not torch.equal(sums[query], table[items].sum(dim=0)):
            print(f"embedding-torch: the sum of query {query} is wrong", file=sys.stderr)
            return 1
    rate = len(starts) / seconds
    print("measure throughput", rate)
    print("measure gathered", rate * per_query * table.element_size() * DIMENSION / 1e9)
    print("measure call", seconds * 1e6)
    return 0


if __name__ == "__main__":
    sys.exit(main())
