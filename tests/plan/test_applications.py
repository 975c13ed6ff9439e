"""The applications file: what it says, and what is wrong with those that do not load."""

import json
from pathlib import Path

import pytest
from cxlab.error import Code, InputError
from cxlab.plan.assumption import Origin

from .conftest import THREE, Read


def test_reads_units_intervals_and_choices(read: Read) -> None:
    three = read(THREE)
    assert three.names == ("key-value", "analytics", "web")
    assert three.dram_choices == pytest.approx((256, 512, 1024))
    assert three.cxl_choices == pytest.approx((0, 256, 512))  # none is always a choice
    r_c = next(a for a in three.assumptions if a.key == "analytics.r_c")
    assert (r_c.value.low, r_c.value.nominal, r_c.value.high) == (4, 5, 5.5)
    assert r_c.provenance.source.endswith("applications.toml:21")


@pytest.mark.parametrize(
    ("old", "new", "code", "field", "valid"),
    [
        ('footprint = "64 GiB"', 'footprint = "-64 GiB"', Code.OUT_OF_RANGE, ":13: [application] footprint",
         "0 GiB < key-value.footprint"),
        ('footprint = "64 GiB"', "footprint = 64", Code.WRONG_UNIT, ":13: [application] footprint", "GiB"),
        ('r_c = "5 in 4..5.5"', "r_c = 7", Code.OUT_OF_RANGE, ":21: [application] r_c", "<= r_d = 6"),
        ("r_c = 2.8", "r_e = 2.8", Code.UNKNOWN_KEY, ":30: [application] r_e", "max_slowdown"),
        ("r_c = 2.8\n", "", Code.MISSING, ":27: [application] r_c", "1 <= r_c"),
        ("max_slowdown = 1.5", "max_slowdown = 0.9", Code.OUT_OF_RANGE, ":25: [application] max_slowdown",
         "1 <= "),
        ('share = "30 %"', 'share = "40 %"', Code.CONFLICT, "[[application]] share", "100 %"),
        ('name = "web"', 'name = "analytics"', Code.CONFLICT, ":28: [application] name", "its own"),
        ('name = "web"', "", Code.MISSING, ":27: [application] name", "letters"),
        ('"512 GiB"]', '"-512 GiB"]', Code.OUT_OF_RANGE, ":7: [server] cxl", "0 GiB <= cxl"),
        ('dram = ["256 GiB", ', 'dram = ["0 GiB", ', Code.OUT_OF_RANGE, ":6: [server] dram", "0 GiB < dram"),
        ("instances = 1000", "instances = 0", Code.OUT_OF_RANGE, ":2: [fleet] instances", "1 <= "),
        ("[fleet]", "[flete]", Code.UNKNOWN_KEY, "flete", "application, fleet, server"),
        ("vcpus = 192", "vcpus = 7", Code.OUT_OF_RANGE, ":14: [application] vcpus", "at most 7"),
        ("vcpus = 192", "vcpus = ", Code.UNREADABLE, "applications.toml", "TOML"),
    ],
)  # fmt: skip
def test_names_file_line_and_key(read: Read, old: str, new: str, code: Code, field: str, valid: str) -> None:
    assert old in THREE
    with pytest.raises(InputError) as caught:
        read(THREE.replace(old, new, 1))
    assert caught.value.code is code
    assert field in caught.value.field
    assert valid in caught.value.valid


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    from cxlab.plan.applications import read_applications

    with pytest.raises(InputError) as caught:
        read_applications(tmp_path / "none.toml")
    assert "none.toml" in caught.value.field


def test_r_d_and_r_c_may_come_from_runs_beside_the_file(read: Read, tmp_path: Path) -> None:
    for tier, seconds in (("dram", 1.0), ("cxl", 1.25), ("slow", 10.0)):
        folder = tmp_path / "runs" / tier
        folder.mkdir(parents=True)
        node = {"read_bytes": 10, "write_bytes": 0}
        summary = {
            "complete": True,
            "simulated_seconds": seconds,
            "instructions": {"user": 100, "kernel": 1},
            "nodes": {"cxl" if tier == "cxl" else "dram": node},
        }
        (folder / "summary.json").write_text(json.dumps(summary))
    text = THREE.replace('r_d = 10\nr_c = "8 in 7..9"\n', 'from_run = ["runs"]\n')
    found = {a.key: a for a in read(text).assumptions}
    assert found["key-value.r_d"].value.nominal == pytest.approx(10)
    assert found["key-value.r_c"].value.nominal == pytest.approx(8)
    assert found["key-value.r_c"].provenance.origin is Origin.MEASURED
