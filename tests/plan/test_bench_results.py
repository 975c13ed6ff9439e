"""R_d and R_c from results of benches: a byte moved, or a load, is the work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cxlab.cli.bench import command as bench
from cxlab.cli.plan import command as plan
from cxlab.error import Code, InputError
from cxlab.plan.quantity import Interval
from cxlab.plan.runs import Tier, measure, read_runs, read_throughput


def write(file: Path, node: str, bandwidth: float, **more: Any) -> Path:
    document = {
        "bench": "bandwidth",
        "machine": "m",
        "node": node,
        "threads": 16,
        "mix": "1:0",
        "store": "ordinary",
        "pattern": "sequential",
        "points": [{"bandwidth_mb_s": bandwidth, "latency_ns": 500.0}],
        **more,
    }
    file.write_text(json.dumps(document))
    return file


def refused(code: Code, *arguments: str) -> InputError:
    with pytest.raises(InputError) as error:
        measure([run for argument in arguments for run in read_runs(argument)], Interval.exactly(10))
    assert error.value.code is code
    return error.value


def test_bandwidth_is_throughput_and_the_node_is_the_tier(tmp_path: Path) -> None:
    write(tmp_path / "a.json", "dram", 60_000)
    write(tmp_path / "b.json", "cxl", 48_000)
    runs = read_runs(str(tmp_path))
    assert [run.tier for run in runs] == [Tier.DRAM, Tier.CXL]
    assert measure(runs, Interval.exactly(10)).r_c.nominal == pytest.approx(8)  # 10 x 48 / 60


def test_a_slow_tier_may_be_typed_in_the_bench_s_unit(tmp_path: Path) -> None:
    runs = read_runs(str(write(tmp_path / "a.json", "dram", 60_000)))
    runs += read_runs(str(write(tmp_path / "b.json", "cxl", 48_000)))
    got = measure([*runs, read_throughput("slow=6000 MB/s")], None)
    assert (got.r_d.nominal, got.r_c.nominal) == (pytest.approx(10), pytest.approx(8))


def test_a_real_machine_s_node_needs_its_tier(tmp_path: Path) -> None:
    memo = {"bench": None, "benchmark": "stream", "settings": {"threads": 4}}
    points = [{"kernel": "copy", "bandwidth_mb_s": 9e4}, {"kernel": "triad", "bandwidth_mb_s": 5e4}]
    file = write(tmp_path / "host.json", "2", 0, **memo, points=points)
    document = json.loads(file.read_text())
    del document["bench"]
    file.write_text(json.dumps(document))
    assert "TIER=" in refused(Code.RUNS_DIFFER, str(file)).valid
    [run] = read_runs(f"cxl={file}")
    assert (run.tier, run.seconds) == (Tier.CXL, 1 / 5e4)  # of triad


def test_different_benches_do_not_compare(tmp_path: Path) -> None:
    other = write(tmp_path / "b.json", "cxl", 48_000, mix="2:1")
    error = refused(Code.RUNS_DIFFER, str(write(tmp_path / "a.json", "dram", 60_000)), str(other))
    assert "mix 2:1" in error.found and "mix 1:0" in error.found
    refused(Code.UNREADABLE, str(write(tmp_path / "c.json", "dram", 1, bench="memo")))
    refused(Code.NOT_A_QUANTITY, str(write(tmp_path / "d.json", "dram", -1)))
    refused(Code.RUNS_DIFFER, str(write(tmp_path / "e.json", "dram=3,cxl=1", 1)))


def test_from_the_bench_to_the_bill(tmp_path: Path) -> None:
    latency: dict[str, float] = {}
    for node in ("dram", "cxl"):
        file = tmp_path / f"{node}.json"
        arguments = ["latency", "--machine", "8468v-asic", "--node", node, "--json", str(file)]
        assert CliRunner().invoke(bench, arguments).exit_code == 0
        latency[node] = json.loads(file.read_text())["points"][0]["latency_ns"]
    out = tmp_path / "out" / "cost.json"
    out.parent.mkdir()
    arguments = ["cost", "--from-run", str(tmp_path), "--r-d", "10", "--c", "2", "--r-t", "1.1"]
    done = CliRunner().invoke(plan, [*arguments, "--draws", "10", "--json", str(out)])
    assert done.exit_code == 0, done.output
    r_c = 10 * latency["dram"] / latency["cxl"]
    # EuroSys'24, section 6: C R_c (R_d - 1) / (R_c R_d (C + 1) - C R_c - R_d), at R_d 10 and C 2
    ratio = json.loads(out.read_text())["server_ratio"]
    assert ratio == pytest.approx(18 * r_c / (28 * r_c - 10), rel=1e-6)
