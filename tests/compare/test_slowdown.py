"""How much slower, why, and how sure: expected values by arithmetic on runs in round numbers."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from cxlab.border import RunResult
from cxlab.compare import report
from cxlab.compare.parts import Kind, Unloaded
from cxlab.compare.slowdown import Column, against
from rich.console import Console


def column(label: str, *results: RunResult, unloaded: Unloaded | None = None) -> Column:
    return Column(label, "8468v-asic", f"--membind {label}", results, unloaded or {})


@pytest.fixture
def dram(run: Any) -> RunResult:
    """10 s: 4 s of CPU, 4 s of DRAM, 1 s in the kernel, 1 s of I/O."""
    return run({"retiring": 3.0, "l1": 1.0}, {"dram": {"media": 4.0}, "cxl": {}}, kernel=1.0, io=1.0)


@pytest.fixture
def cxl(run: Any) -> RunResult:
    """Sixteen seconds: CPU 4 s, fill buffers 2 s, link 3 s, device 4 s, kernel 2 s, I/O 1 s."""
    stages = {"fill_buffer": 2.0, "link_m2s": 1.0, "link_s2m": 2.0, "device_in": 1.0, "media": 3.0}
    means = {"link_m2s": 1.0, "link_s2m": 20.0, "device_in": 14.0, "media": 60.0}
    return run(
        {"retiring": 3.0, "l1": 1.0},
        {"dram": {}, "cxl": stages},
        kernel=2.0,
        io=1.0,
        stages_ns={"cxl": {**means, "fill_buffer": 40.0}},
    )


#: Of the 60 ns at the media 40 would pass without load; nothing waits elsewhere.
UNLOADED = {"cxl": {"link_m2s": 1.0, "link_s2m": 20.0, "device_in": 14.0, "media": 40.0}}


def test_shares_add_up_to_the_slowdown(dram: RunResult, cxl: RunResult) -> None:
    slowdown = against(column("dram", dram), column("cxl", cxl, unloaded=UNLOADED))
    assert slowdown.times == pytest.approx(1.6)
    wanted = {
        "cpu": 0.1,  # a second of the kernel's
        "fill_buffers": 0.2,
        "dram.memory": -0.4,
        "cxl.link": 0.3,
        "cxl.device": 0.4,
        "io": 0.0,
    }
    assert {part: share for part, share in slowdown.because.items() if part != "idle"} == pytest.approx(
        wanted
    )
    assert sum(slowdown.because.values()) == pytest.approx(slowdown.times - 1, abs=1e-12)
    assert sum(slowdown.kinds.values()) == pytest.approx(slowdown.times - 1, abs=1e-12)


def test_what_is_beyond_the_time_without_load_is_bandwidth(dram: RunResult, cxl: RunResult) -> None:
    kinds = against(column("dram", dram), column("cxl", cxl, unloaded=UNLOADED)).kinds
    # A third of the 3 s at the media. Latency: 1 + 2 + 1 + 2 s less the 4 s of DRAM.
    assert kinds[Kind.BANDWIDTH] == pytest.approx(0.1)
    assert kinds[Kind.LATENCY] == pytest.approx(0.2)
    assert kinds[Kind.FILL_BUFFERS] == pytest.approx(0.2)
    assert kinds[Kind.KERNEL] == pytest.approx(0.1)
    assert kinds[Kind.CPU] == kinds[Kind.IO] == 0.0


def test_the_sentence_says_how_much_why_and_how_sure(dram: RunResult, cxl: RunResult) -> None:
    first, other = column("dram", dram), column("cxl", cxl, unloaded=UNLOADED)
    assert report.sentence(first, other) == (
        "1.60 times slower on cxl than on dram: 33 % latency, 33 % fill buffers, 17 % bandwidth, 17 % kernel "
        "(one exact run of each: no interval)"
    )
    assert report.sentence(other, first).startswith("1.60 times faster on dram than on cxl: ")
    assert report.sentence(first, column("again", dram)).startswith("again is as fast as dram (1.000 times")


def test_seeds_give_the_interval_of_a_ratio(run: Any) -> None:
    # Ratios of 1.5 and 1.7 about equal times: mean 1.6, standard error 0.1, t(0.975, 1) = 12.706 (any table).
    ones = [run({"retiring": 10.0}, {}) for _ in range(2)]
    others = [run({"retiring": seconds}, {}) for seconds in (15.0, 17.0)]
    interval = against(column("dram", *ones), column("cxl", *others)).interval
    assert interval is not None
    assert (interval.high - interval.low) / 2 == pytest.approx(12.706 * 0.1, rel=1e-3)
    assert (interval.high + interval.low) / 2 == pytest.approx(1.6)


def test_sampled_runs_give_an_interval_of_their_own(run: Any) -> None:
    # Each time is known to within a factor: 1.03 and 1.04 make exp(sqrt(ln 1.03^2 + ln 1.04^2)).
    first = run({"retiring": 10.0}, {}, sampled=[10.0 / 1.03, 10.3])
    other = run({"retiring": 20.0}, {}, sampled=[20.0 / 1.04, 20.8])
    interval = against(column("dram", first), column("cxl", other)).interval
    assert interval is not None
    wanted = math.exp(math.hypot(math.log(1.03), math.log(1.04)))
    assert (interval.low, interval.high) == pytest.approx((2 / wanted, 2 * wanted))
    assert interval.confidence == 0.95


def test_a_sample_of_too_few_windows_has_no_interval(run: Any) -> None:
    first = run({"retiring": 10.0}, {}, sampled=None)
    other = run({"retiring": 20.0}, {}, sampled=[0.0, 40.0])
    assert against(column("dram", first), column("cxl", other)).interval is None


def sampled_pair(run: Any, few: list[str]) -> tuple[Column, Column]:
    """10 s, of which 60 % are CPU to within 10 points; 20 s of 80 % CPU to within 5 points, and 20 % "
    "on the link."""
    columns = []
    for label, seconds, cpu in (("dram", 10.0, (0.5, 0.7)), ("cxl", 20.0, (0.75, 0.85))):
        share = sum(cpu) / 2
        nodes = {"cxl": {"host_out": seconds * (1 - share)}}
        made = run({"retiring": seconds * share}, nodes, sampled=[seconds, seconds])
        made.sampling.intervals["where_it_went"] = {
            "cpu": list(cpu),
            "nodes": {"cxl": {"link": [1 - cpu[1], 1 - cpu[0]]}},
        }
        made.sampling.too_few_windows_for.extend(few)
        columns.append(column(label, made))
    return columns[0], columns[1]


def rows(*columns: Column) -> dict[str, list[str]]:
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(report.table(columns))
    lines = [line.strip() for line in console.export_text().splitlines() if line.strip()]
    return {cells[0]: cells[1:] for line in lines if (cells := re.split(r"  +", line))}


def test_a_part_of_a_sampled_column_has_its_interval(run: Any) -> None:
    first, other = sampled_pair(run, [])
    said = rows(first, other)
    # 20 s of 10 s, both known exactly: 0.75 and 0.85 of it are 1.5 and 1.7 of the first time.
    assert said["CPU"] == ["0.600 (0.500 .. 0.700)", "+1.000 (+0.800 .. +1.200)"]
    assert said["total"] == ["1.000", "2.000 (2.000 .. 2.000)"]
    document = report.document([first, other])["columns"][1]
    assert document["because"]["cpu"] == pytest.approx(1.0)
    assert document["because_intervals"]["cpu"] == pytest.approx((0.8, 1.2))


def test_a_part_that_too_few_windows_saw_is_not_told(run: Any) -> None:
    first, other = sampled_pair(run, ["where_it_went.nodes.cxl.link"])
    said = rows(first, other)
    assert said["cxl: CXL link"] == ["-", "-"] and said["CPU"][0].startswith("0.600 (")
    assert report.document([first, other])["columns"][1]["because_intervals"]["cxl.link"] is None


def test_no_difference_is_explained_that_the_interval_does_not_tell(run: Any) -> None:
    first = run({"retiring": 10.0}, {}, sampled=[9.0, 11.0])
    other = run({"retiring": 10.5}, {}, sampled=[9.5, 11.5])
    said = report.sentence(column("dram", first), column("cxl", other))
    assert re.fullmatch(
        r"no difference between cxl and dram can be told \(0\.\d\d to 1\.\d\d times its time, 95%\)", said
    )
    few = run({"retiring": 20.0}, {}, sampled=[0.0, 40.0])
    assert report.sentence(column("dram", first), column("cxl", few)).endswith(
        "(too few windows for an interval)"
    )


def test_the_table_has_the_parts_in_the_order_of_the_way(dram: RunResult, cxl: RunResult) -> None:
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(report.table([column("dram", dram), column("cxl", cxl)]))
    rows = [line.split("  ") for line in console.export_text().splitlines() if line.strip()]
    said = [row for line in rows if (row := [cell.strip() for cell in line if cell.strip()])]
    assert ["total", "1.000", "1.600", "+0.600"] in said
    labels = [row[0] for row in said]
    order = ["CPU", "queueing for fill buffers", "dram: DRAM", "cxl: CXL link", "cxl: CXL device", "I/O"]
    assert [label for label in labels if label in order] == order
    assert ["queueing for fill buffers", "0.000", "0.200", "+0.200"] in said


def test_the_document_is_json_whose_shares_add_up(dram: RunResult, cxl: RunResult) -> None:
    document = json.loads(json.dumps(report.document([column("dram", dram), column("cxl", cxl)])))
    first, other = document["columns"]
    assert first["slowdown"] == 1.0 and set(first["because"].values()) == {0.0}
    for shares in (other["because"], other["kinds"]):
        assert sum(shares.values()) == pytest.approx(other["slowdown"] - 1)
    assert sum(other["parts_s"].values()) == pytest.approx(16.0)
