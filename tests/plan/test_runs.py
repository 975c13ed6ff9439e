"""R_d and R_c from runs: throughput relative to a run with everything on the slow tier."""

import json
from pathlib import Path
from typing import Any

import pytest
from cxlab.error import Code, InputError
from cxlab.plan.quantity import Interval
from cxlab.plan.runs import Tier, measure, read_runs, read_throughput


def write_run(
    folder: Path, seconds: object, dram: float, cxl: float, user: object = 1_000_000, **more: Any
) -> Path:
    folder.mkdir(parents=True)
    nodes = {
        name: {"loads": 1, "stores": 1, "read_bytes": 2 * amount / 3, "write_bytes": amount / 3}
        for name, amount in (("dram", dram), ("cxl", cxl))
    }
    summary = {
        "complete": True,
        "simulated_seconds": seconds,
        "instructions": {"user": user, "kernel": 5},
        "nodes": nodes,
        **more,
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_run(tmp_path / "dram", 1.0, 100, 0)
    write_run(tmp_path / "cxl", 1.25, 5, 95)
    write_run(tmp_path / "slow", 10.0, 100, 0)
    return tmp_path


def test_throughput_is_relative_to_the_slow_tier(runs: Path) -> None:
    got = measure(read_runs(str(runs)), None)
    assert got.r_d.nominal == pytest.approx(10)  # 10 s over 1 s
    assert got.r_c.nominal == pytest.approx(8)  # 10 s over 1.25 s
    assert str(runs / "slow") in got.source


def test_tiers_may_be_named_one_by_one(runs: Path) -> None:
    named = [run for tier in Tier for run in read_runs(f"{tier.value}={runs / tier.value}")]
    assert measure(named, None).r_c.nominal == pytest.approx(8)


def test_a_run_is_named_by_its_folder_or_by_its_summary(runs: Path) -> None:
    files = [run for tier in Tier for run in read_runs(f"{tier.value}={runs / tier.value / 'summary.json'}")]
    assert measure(files, None).r_c.nominal == pytest.approx(8)


def test_the_tier_of_a_run_is_where_its_bytes_went(tmp_path: Path) -> None:
    assert read_runs(str(write_run(tmp_path / "a", 1, 100, 3)))[0].tier is Tier.DRAM
    assert read_runs(str(write_run(tmp_path / "b", 1, 3, 100)))[0].tier is Tier.CXL


def test_with_a_typed_r_d_no_slow_run_is_needed(runs: Path) -> None:
    two = read_runs(f"dram={runs / 'dram'}") + read_runs(f"cxl={runs / 'cxl'}")
    assert measure(two, Interval.exactly(10)).r_c.nominal == pytest.approx(8)


def test_several_runs_of_a_tier_give_an_interval(runs: Path) -> None:
    again = write_run(runs / "again", 1.5, 0, 100)
    got = measure([*read_runs(str(runs / "dram")), *read_runs(f"slow={runs / 'slow'}"),
                   *read_runs(str(runs / "cxl")), *read_runs(str(again))], None)  # fmt: skip
    assert got.r_d == Interval.exactly(10)
    assert got.r_c.low == pytest.approx(10 / 1.5)
    assert got.r_c.high == pytest.approx(10 / 1.25)
    assert got.r_c.nominal == pytest.approx(10 / 1.375)


def test_a_benchmarks_throughputs_give_the_same_ratios() -> None:
    got = measure(
        [read_throughput(f"{tier}={n} kops/s") for tier, n in (("dram", 100), ("cxl", 80), ("slow", 10))],
        None,
    )
    assert got.r_d.nominal == pytest.approx(10)  # 100 over 10
    assert got.r_c.nominal == pytest.approx(8)  # 80 over 10
    assert "cxl=80 kops/s" in got.source


def test_throughputs_in_different_units_do_not_compare() -> None:
    with pytest.raises(InputError) as caught:
        measure([read_throughput("dram=100 kops/s"), read_throughput("cxl=80 ops/s")], Interval.exactly(10))
    assert caught.value.code is Code.RUNS_DIFFER
    assert "kops/s" in caught.value.found


@pytest.mark.parametrize("argument", ["dram", "dram=", "dram=fast", "dram=-1", "dram=0", "dram=nan", "ssd=3"])
def test_a_wrong_throughput_is_named(argument: str) -> None:
    with pytest.raises(InputError) as caught:
        read_throughput(argument)
    assert argument in caught.value.field


def refused(code: Code, *arguments: str, r_d: Interval | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        measure([run for argument in arguments for run in read_runs(argument)], r_d)
    assert caught.value.code is code
    return caught.value


def test_without_a_slow_run_or_r_d_there_is_nothing_to_relate_to(runs: Path) -> None:
    error = refused(Code.MISSING, f"dram={runs / 'dram'}", f"cxl={runs / 'cxl'}")
    assert "slow" in str(error) and "--r-d" in str(error)


def test_a_missing_tier_is_named(runs: Path) -> None:
    assert "cxl" in str(refused(Code.MISSING, f"dram={runs / 'dram'}", f"slow={runs / 'slow'}"))


def test_r_d_is_not_both_typed_and_measured(runs: Path) -> None:
    assert refused(Code.CONFLICT, str(runs), r_d=Interval.exactly(10)).field == "--r-d"


def test_runs_of_different_work_do_not_compare(runs: Path) -> None:
    write_run(runs / "other", 1, 0, 100, user=1_060_000)
    error = refused(
        Code.RUNS_DIFFER, f"dram={runs / 'dram'}", f"cxl={runs / 'other'}", f"slow={runs / 'slow'}"
    )
    assert "1,060,000" in error.found


def test_a_run_on_two_tiers_is_neither(tmp_path: Path) -> None:
    mixed = write_run(tmp_path / "mixed", 1, 50, 50)
    assert "dram 50 %" in refused(Code.RUNS_DIFFER, str(mixed)).found
    assert refused(Code.RUNS_DIFFER, f"cxl={mixed}").valid == "at least 90 % of the bytes on cxl nodes"


@pytest.mark.parametrize("seconds", [0, -1, "fast", None, True])
def test_a_wrong_time_is_named(tmp_path: Path, seconds: object) -> None:
    assert (
        "simulated_seconds"
        in refused(Code.NOT_A_QUANTITY, str(write_run(tmp_path / "r", seconds, 1, 0))).field
    )


def test_a_partial_run_does_not_count(tmp_path: Path) -> None:
    refused(Code.RUNS_DIFFER, str(write_run(tmp_path / "r", 1, 1, 0, complete=False)))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"simulated_seconds": 1}'])
def test_a_broken_summary_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(InputError) as caught:
        read_runs(str(tmp_path))
    assert str(tmp_path / "summary.json") in caught.value.field


@pytest.mark.parametrize("argument", ["nowhere", "fast=nowhere", "dram=nowhere"])
def test_a_wrong_argument_is_named(argument: str) -> None:
    with pytest.raises(InputError) as caught:
        read_runs(argument)
    assert "nowhere" in caught.value.field
