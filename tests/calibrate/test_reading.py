"""Calibration reads figures, holds some out, and refuses others with the valid ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cxlab.calibrate import hold_out, observation
from cxlab.calibrate import measured as measured_files
from cxlab.calibrate.measured import Told
from cxlab.calibrate.observation import Quantity, Role
from cxlab.cli.calibrate import command
from cxlab.error import InputError

from .conftest import MACHINE

NODES = ("dram", "cxl")
HEADER = "path,threads,rw_mix,store_type,pattern,inject_delay,latency_ns,bandwidth_MBps\n"
# A curve with its knee at 85 % of 40 GB/s, 34 GB/s.
CURVE = (
    (0, 900, 40000),
    (100, 700, 39000),
    (300, 330, 34000),
    (500, 280, 20000),
    (1000, 260, 10000),
    (9000, 250, 900),
)
MLC = """Intel(R) Memory Latency Checker - v3.11b
Command line parameters: --loaded_latency

Measuring Loaded Latencies for the system
Using 2:1 Reads-Writes traffic type
Inject\tLatency\tBandwidth
Delay\t(ns)\tMB/sec
==========================
 00000\t806.94\t  47898.1
 20000\t250.12\t   1237.6
"""  # fmt: skip


def csv_of(tmp_path: Path, node: str = "cxl", mix: str = "1:0") -> Path:
    rows = [f"{node},16,{mix},none,sequential,{d},{latency},{b}" for d, latency, b in CURVE]
    file = tmp_path / f"curve-{mix.replace(':', '')}.csv"
    file.write_text(HEADER + "\n".join(rows) + "\n")
    return file


def observed(*files: Path, rule: str = "none", told: Told | None = None) -> list[observation.Observation]:
    series = measured_files.read(files, told or Told(None, None), NODES)
    return hold_out.split(observation.observations(series, 3.0), rule)


def test_a_curve_is_its_latencies_to_the_knee_and_its_peak(tmp_path: Path) -> None:
    found = observed(csv_of(tmp_path))
    fitted = [(o.quantity, o.value) for o in found if o.role is Role.FIT]
    latencies = [(Quantity.LATENCY, float(value)) for value in (250, 260, 280, 330)]
    assert fitted == [*latencies, (Quantity.BANDWIDTH, 40000.0)]
    assert [o.value for o in found if o.role is Role.FULL_LOAD] == [900.0]


def test_the_delay_is_the_one_that_gives_the_bandwidth(tmp_path: Path) -> None:
    # 16 threads x 256 B a delay: 20 GB/s less the chase's 64 B in 280 ns are 207.2 ns, 622 cycles of 3 GHz.
    [at] = [o for o in observed(csv_of(tmp_path)) if o.bandwidth == 20000]
    assert at.job["delay"] == round(16 * 256 / (20 - 64 / 280) * 3.0) == 622
    # At 2:1 an ordinary store's line is written back as well: 3 lines for 2 accesses.
    [at] = [o for o in observed(csv_of(tmp_path, mix="2:1")) if o.bandwidth == 20000]
    assert at.job["delay"] == round(16 * 256 * 1.5 / (20 - 64 / 280) * 3.0)


@pytest.mark.parametrize(
    ("rule", "held"),
    [
        ("none", []),
        ("shape", [260, 280, 330, 260, 280, 330]),
        ("every=3", [260, 40000, 260, 40000]),
        # Equal distances from 0.9 to 34 GB/s: 0.9, 17.45, 34; the nearest are 900, 20000 and 34000.
        ("spread=3", [260, 260]),
        ("mix=2:1", [250, 260, 280, 330, 40000]),
        ("shape,mix=2:1", [260, 280, 330, 250, 260, 280, 330, 40000]),
    ],
)
def test_rules_hold_out(rule: str, held: list[float], tmp_path: Path) -> None:
    found = observed(csv_of(tmp_path), csv_of(tmp_path, mix="2:1"), rule=rule)
    assert [o.value for o in found if o.role is Role.HELD_OUT] == held


def test_mlc_text_has_its_node_and_threads_from_the_caller(tmp_path: Path) -> None:
    file = tmp_path / "mlc.txt"
    file.write_text(MLC)
    [series] = measured_files.read([file], Told("cxl", 16), NODES)
    assert series.label == "cxl, 16 thr, 2:1 ordinary, sequential"
    assert [(p.delay, p.latency, p.bandwidth) for p in series.points] == [
        (0, 806.94, 47898.1),
        (20000, 250.12, 1237.6),
    ]


def test_memo_json_of_a_real_node_stands_for_a_simulated_one(tmp_path: Path) -> None:
    points = [{"instruction": "ld", "latency_ns": 40.0}, {"instruction": "st", "latency_ns": 60.0}]
    file = tmp_path / "memo.json"
    file.write_text(
        json.dumps({"benchmark": "memo", "machine": "a host", "node": "2", "settings": {}, "points": points})
    )
    found = observed(file, told=Told("cxl", None))
    assert [o.job["work"] for o in found] == [{"memo": {"instruction": i}} for i in ("ld", "st")]
    assert [o.job["placement"] for o in found] == [[{"node": "cxl", "weight": 1}]] * 2


def test_a_family_of_mixes_is_a_curve_each_and_a_host_s_node_must_be_named(tmp_path: Path) -> None:
    points = [
        {"delay": 0, "mix": mix, "latency_ns": 500.0, "bandwidth_mb_s": 4e4} for mix in ("1:0", "2:1", "1:0")
    ]
    family = {"bench": "mess", "node": "cxl", "placement": {"cxl": 1}, "threads": 8, "mix": ["1:0", "2:1"]}
    file = tmp_path / "mess.json"
    file.write_text(json.dumps({**family, "points": points}))
    series = measured_files.read([file], Told(None, None), NODES)
    assert [(str(s.workload.mix), len(s.points)) for s in series] == [("1:0", 2), ("2:1", 1)]
    file.write_text(json.dumps({**family, "placement": {"0": 1}, "points": points, "provenance": {}}))
    with pytest.raises(InputError, match="--node"):
        measured_files.read([file], Told(None, None), NODES)
    assert {s.node for s in measured_files.read([file], Told("dram", None), NODES)} == {"dram"}


BAD: list[tuple[str, list[str], list[str]]] = [
    ("not a measurement\n", [], ["CAL001", "MLC's text, or CSV with the columns path"]),
    ("", [], ["CAL001"]),
    (HEADER + "cxl,16,1:0,none,sequential,0,-5,100\n", [], ["from 0.01"]),
    (HEADER + "nowhere,16,1:0,none,sequential,0,500,100\n", [], ["`nowhere` is measured", "dram, cxl"]),
    (MLC, [], ["--node", "the simulated node that it stands for"]),
    (MLC, ["--node", "cxl"], ["--threads", "does not say"]),
    (MLC.replace("806.94", "fast"), ["--node", "cxl", "--threads", "16"], ['"fast" is no number']),
    ('{"benchmark": "memo"}', [], ["has no 'points'"]),
    ("CURVE", ["--free", "cxl.bridge"], ["CAL003", "no number `cxl.bridge`"]),
    ("CURVE", ["--free", "bridge_latency"], ["dmsim-asic.root_port.bridge_latency"]),
    ("CURVE", ["--free", "dram.latency=60..90 ns"], ["CAL004", "with the start, 53.5, between"]),
    ("CURVE", ["--free", "dram.latency=20..90"], ["CAL004", "LOW..HIGH ns"]),
    ("CURVE", ["--free", "dram.latency", "--free", "dram.latency"], ["each number once"]),
    ("CURVE", ["--hold-out", "mix=3:1"], ["CAL005", "holds out none"]),
    ("CURVE", ["--hold-out", "some"], ["`some` is no rule", "every=N"]),
    ("CURVE", ["--hold-out", "node=cxl"], ["leaves nothing to fit"]),
    ("CURVE", ["--start", "8468v"], ["no machine `8468v`", "8468v-asic"]),
    ("CURVE", ["--out", "nowhere/x.toml"], ["CAL008", "in a folder that is there"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "more", "says"), BAD)
def test_bad_input_is_refused_with_what_is_valid(
    text: str, more: list[str], says: list[str], tmp_path: Path
) -> None:
    file = csv_of(tmp_path)
    if text != "CURVE":
        file.write_text(text)
    base: list[Any] = ["--measured", file, "--start", MACHINE, "--out", tmp_path / "out.toml"]
    done = CliRunner().invoke(command, [str(word) for word in [*base, *more]])
    assert done.exit_code == 2, done.output
    for part in says:
        assert part in done.output
