"""How a server's memory is divided: what its streams set aside for work, and what is left for tables.

::

    memory  |  pages of tables  | work | work | ...   one for each stream, at most half of all together

SQL Server's streams share a pool with its tables in this way, but up to three quarters (Microsoft, Memory
management architecture guide). There a query waits for its share. PostgreSQL's queries do not wait.
"""

from __future__ import annotations

from typing import NamedTuple

#: The least that PostgreSQL 15 takes for tables, and for a sort or hash table [kB] (its manual, 20.4).
LEAST_TABLES, LEAST_WORK = 128, 64


class Division(NamedTuple):
    """Memory for tables, and for the work of one stream [kB]."""

    tables: int
    work: int


def divide(memory: int, streams: int, work: int) -> Division:
    """Divide among streams that each want so much for work [kB].

    Raises:
        SystemExit: there is too little for so many streams.

    """
    each = min(work, memory // 2 // streams)
    tables = memory - streams * each
    if each < LEAST_WORK or tables < LEAST_TABLES:
        least = max(2 * streams * LEAST_WORK, LEAST_TABLES + streams * LEAST_WORK)
        raise SystemExit(
            f"{memory} kB of memory leave {each} kB of work for each of {streams} streams; "
            f"give work of {LEAST_WORK} kB or more, and memory of {least} kB or more"
        )
    return Division(tables, each)
