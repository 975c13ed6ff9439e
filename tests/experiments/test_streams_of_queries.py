"""Streams of TPC-H: memories are to a stream's tables as the paper's footprints say (Micron, figure 7c)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments import streams, workloads
from experiments.experiment import Asked
from experiments.measures import PostgresqlTpch

#: Pages of tables that a stream has in ample memory here [MB].
HELD = 20.0


class Runs:
    """Answers as `workloads.Runs`, and keeps what it was asked."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.asked: list[tuple[workloads.Options, dict[str, Any]]] = []

    def measure(self, placement: workloads.Options, **values: Any) -> PostgresqlTpch:
        """Half as many requests with CXL memory."""
        self.asked.append((placement, values))
        requests = 500.0 if "--weighted-interleave" in placement else 1000.0
        return PostgresqlTpch([1.0], [1.0], [1.0], [1.0], [requests], [HELD])

    def models(self, placement: workloads.Options, **_: Any) -> list[Any]:
        """Twice as fast with CXL memory."""
        seconds = 1.0 if "--weighted-interleave" in placement else 2.0
        return [type("Ran", (), {"simulated_s": seconds})]


@pytest.fixture
def bed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> streams.Bed:
    monkeypatch.setattr(workloads, "Runs", Runs)
    return streams.Bed(Asked(quick=False, folder=tmp_path), drives=8)


def test_the_footprints_of_the_paper_are_those_of_one_and_eight_streams() -> None:
    # 42 % and 128 % above DDR's 768 GB.
    assert pytest.approx(768 * 1.42) == streams.TABLES + streams.WORK
    assert pytest.approx(768 * 2.28) == streams.TABLES + 8 * streams.WORK


def test_memories_are_to_the_tables_as_in_the_paper(bed: streams.Bed) -> None:
    bed.run(streams.Server(768, cxl=True), 8)
    # The first run is a stream in ample memory.
    (_, ample), (placement, values) = bed._runs.asked
    assert ample["streams"] == 1 and values["streams"] == 8
    # Micron: 768 GB of DDR and 1,024 GB of CXL memory, and what a stream has of its tables.
    assert values["memory"] == pytest.approx((768 + 1024) / streams.TABLES * 1e3 * HELD, abs=1)
    assert values["work"] == pytest.approx(streams.WORK / streams.TABLES * 1e3 * HELD, abs=1)
    assert placement == ("--weighted-interleave", "dram=6,cxl=8")


def test_rows_say_what_cxl_memory_changes(bed: streams.Bed) -> None:
    speed, transactions = streams.with_cxl(bed, 768, 8, streams.Gain(speed=96.0, transactions=-88.0))
    assert (speed.paper, speed.simulated) == (96.0, pytest.approx(100))
    assert (transactions.paper, transactions.simulated) == (-88.0, pytest.approx(-50))


def test_an_order_without_numbers_is_of_places(bed: streams.Bed) -> None:
    # Twice the streams in the same time are twice as many a second.
    sixteen, eight = (bed.run(streams.Server(768), count) for count in (16, 8))
    rows = streams.in_order("DDR", [sixteen, eight])
    assert [(row.paper, row.rank, row.place) for row in rows] == [(None, "DDR", 1), (None, "DDR", 2)]
    assert [row.simulated for row in rows] == pytest.approx([100, 0])
