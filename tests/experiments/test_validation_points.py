"""Rows of validation/points.toml as programs in a guest: what runs, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cxlab.bench.figures import Metric
from cxlab.border import NodeSummary
from cxlab.workload.written import Ran

from experiments import validation_points, workloads
from experiments.experiment import Asked
from experiments.measures import ByName

#: workload, node, mix, delay -> measures, a value a seed
Answer = Callable[[workloads.Runs[ByName], str], dict[str, list[float]]]


def answered(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> list[tuple[str, str, dict[str, Any]]]:
    """Runs in place of a guest's: (workload, node, values) of each."""
    asked = []

    def measure(runs: workloads.Runs[ByName], placement: tuple[str, ...]) -> dict[str, list[float]]:
        asked.append((runs.workload.name, placement[1], dict(runs.values)))
        return answer(runs, placement[1])

    monkeypatch.setattr(workloads.Runs, "measure", measure)
    return asked


def test_every_row_of_a_figure_has_a_program(tmp_path: Path) -> None:
    asked = Asked(True, tmp_path)
    papers = ("EuroSys'24 (Tang et al.)", "CXL-DMSim", "MICRO'23 (Sun et al.), figure")
    for row in validation_points.rows_of(papers):
        have = row.settings
        metric: Metric = "bandwidth" if have.mixes else have.metric
        found = validation_points.memory_workload(asked, row.machine, have, metric, have.peak_gb_s)
        # Its name is a folder of workloads/, whose measures have the one that the row means.
        assert found.measure in workloads.find(found.runs.workload.name).document.measures, row.id
        document = workloads.find(found.runs.workload.name).document
        known = {*document.parameters, *document.sizes["quick"].values}
        assert set(found.runs.values) <= known, row.id


def test_a_ratio_is_of_two_runs_of_the_same_seeds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def answer(_: workloads.Runs[ByName], node: str) -> dict[str, list[float]]:
        rate = {"cxl": [16.4, 16.6, 16.5], "dram": [20.0, 20.0, 20.0]}[node]
        return {"triad": rate}

    asked = answered(monkeypatch, answer)
    sources = ("CXL-DMSim (Hong et al.), figure 11",)
    table = validation_points.figures_table(Asked(True, tmp_path), "t", "dmsim/fig11", sources, ["DMS-005"])
    assert asked == [("memo-stream", "cxl", {}), ("memo-stream", "dram", {})]
    [row] = table.rows
    # CXL-DMSim, IV-B2: 82 to 83 % of DDR-L.
    assert (row.paper, row.paper_to, row.unit) == (0.82, 0.83, "x")
    assert row.simulated == pytest.approx(0.825, abs=1e-4)
    assert row.low is not None and row.high is not None and row.low < 0.825 < row.high


def test_lines_written_alone_are_the_share_of_the_mix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = answered(monkeypatch, lambda _, node: {"bandwidth": [{"cxl": 19.2, "remote": 9.6}[node]]})
    sources = ("MICRO'23 (Sun et al.), figure 4b",)
    table = validation_points.figures_table(Asked(True, tmp_path), "t", "micro23/fig4", sources, ["M23-060"])
    assert all(values["mix"] == "1:1" and values["processors"] == 17 for _, _, values in asked)
    # Half of the lines of a mix of 1:1 are written: (19.2 - 9.6) / 2 of a channel's 38.4 GB/s.
    assert table.rows[0].simulated == pytest.approx(12.5)


def test_the_best_mix_is_that_of_the_most_bandwidth(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fastest = "74:26"
    answered(
        monkeypatch, lambda runs, _: {"bandwidth": [30.0 if runs.values["mix"] == fastest else 20.0] * 2}
    )
    sources = ("CXL-DMSim (Hong et al.), figure 12",)
    table = validation_points.figures_table(Asked(False, tmp_path), "t", "dmsim/fig12", sources, ())
    # CXL-DMSim, IV-B3: CXL-ASIC is best at 74 % of reads.
    assert table.rows[0].simulated == pytest.approx(74.0)


def test_counters_leave_out_what_comes_before_the_miss() -> None:
    def node(loads: int, stages_ns: dict[str, float]) -> NodeSummary:
        counts = {"stores": 0, "prefetches": 0, "read_bytes": 0, "write_bytes": 0}
        return NodeSummary(
            loads=loads,
            stages_ns=stages_ns,
            mean_load_latency_ns=None,
            bandwidth_mb_s=1000.0,
            devices=[],
            **counts,
        )

    nodes = {
        "dram": node(3, {"translation": 5.0, "fill_buffer": 50.0, "media": 100.0}),
        "cxl": node(1, {"fill_buffer": 9.0, "media": 300.0}),
        "idle": node(0, {}),
    }
    counters = Ran(seed=0, instructions=10, simulated_s=2.0, ipc=2.0, nodes=nodes)
    assert counters.miss_ns("dram") == 100.0
    assert counters.miss_ns() == pytest.approx((3 * 100 + 300) / 4)
    assert (counters.bandwidth_gb_s, counters.instructions_per_second) == (3.0, 5.0)
