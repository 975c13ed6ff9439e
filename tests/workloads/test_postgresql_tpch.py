"""PostgreSQL's memory among its streams: SQL Server's and PostgreSQL's rules, not the code's."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shipped import WORKLOADS

from tests.loaded import loaded

MEMORY: ModuleType = loaded(WORKLOADS / "postgresql-tpch/memory.py")


@given(st.integers(8192, 1 << 20), st.integers(1, 28), st.integers(64, 1 << 16))
def test_work_and_tables_are_all_of_the_memory_and_work_at_most_half(
    memory: int, streams: int, work: int
) -> None:
    tables, each = MEMORY.divide(memory, streams, work)
    assert tables + streams * each == memory
    assert each <= work and streams * each <= memory / 2
    # Nobody gets less than it wants while there is room for all.
    assert each == work or streams * (each + 1) > memory / 2
    # What PostgreSQL takes at least.
    assert tables >= 128 and each >= 64


def test_too_little_memory_says_how_much_is_enough() -> None:
    with pytest.raises(SystemExit, match=r"leave 25 kB of work for each of 20 streams.* 2560 kB or more"):
        MEMORY.divide(1000, 20, 4096)
    assert MEMORY.divide(2560, 20, 4096) == (1280, 64)
