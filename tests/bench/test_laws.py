"""What no machine can do, whatever its calibration."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from cxlab.machine import description

MODEL = description.model()
MACHINES = {name: json.loads(MODEL.load_machine(name)) for name in MODEL.machine_names()}
NODES = [(name, node["name"]) for name, machine in MACHINES.items() for node in machine["nodes"]]


def described(machine: str, node: str) -> dict[str, Any]:
    return next(n for n in MACHINES[machine]["nodes"] if n["name"] == node)


@pytest.mark.parametrize(("machine", "node"), NODES)
def test_reads_never_pass_the_peak_and_the_stages_are_the_latency(
    machine: str, node: str, point: Any
) -> None:
    loaded = point(machine, node, threads=16)
    # A packer may start a window in the middle of a flit: 0.1 %.
    assert loaded["bandwidth_mb_s"] <= described(machine, node)["bandwidth_gb_s"] * 1e3 * 1.001
    assert sum(loaded["stages_ns"].values()) == pytest.approx(loaded["latency_ns"], rel=1e-9)
    assert loaded["latency_ns"] >= described(machine, node)["latency_ns"]


@pytest.mark.parametrize(("machine", "node"), NODES)
def test_little_lines_in_flight_are_at_most_what_the_cores_have(machine: str, node: str, point: Any) -> None:
    host = MACHINES[machine]["spec"]["host"]
    loaded = point(machine, node, threads=8)
    [memory] = loaded["nodes"].values()
    lines = memory["read_mb_s"] * 1e6 * memory["mean_load_latency_ns"] * 1e-9 / 64
    # Demand and prefetches in the superqueue, prefetches beside it; a load that waits is in the load queue.
    ahead = host["prefetch"]["superqueue"]["value"] + host["prefetch"]["llc_lines"]["value"]
    most = ahead + host["core"]["load_queue"]["value"]
    # The latency thread has one; loads and bytes are counted over a window, whose ends cut some: 0.2 %.
    assert lines <= (8 * most + 1) * 1.002


@pytest.mark.parametrize(
    ("machine", "node"),
    [("spr-a1000", "dram"), ("spr-a1000", "cxl"), ("spr-a1000", "remote"), ("9754-cz120", "cxl")],
)
def test_latency_rises_with_load_below_the_knee(machine: str, node: str, point: Any) -> None:
    curve = [point(machine, node, delay=delay) for delay in (20000, 2500, 1000, 500)]
    bandwidths = [p["bandwidth_mb_s"] for p in curve]
    assert bandwidths == sorted(bandwidths)
    for slow, fast in pairwise(curve):
        # Each is a mean of some thousand samples with a spread of about 25 ns (refresh, bank conflicts).
        assert fast["latency_ns"] > slow["latency_ns"] - 2


@pytest.mark.parametrize("mix", ["1:0", "2:1", "1:1"])
def test_every_request_has_its_response(mix: str, point: Any) -> None:
    loaded = point("spr-a1000", "cxl", mix=mix)
    [port] = loaded["nodes"]["cxl"]["ports"]
    m2s, s2m = port["cxl"]["m2s"], port["cxl"]["s2m"]
    in_flight = 2048  # more than the tables of requests hold
    assert abs(m2s["without_data"] - s2m["with_data"]) <= in_flight  # Req, DRS
    assert abs(m2s["with_data"] - s2m["without_data"]) <= in_flight  # RwD, NDR
    if mix == "1:0":
        assert m2s["with_data"] == 0


@pytest.mark.parametrize(("mix", "share"), [("1:0", 0.0), ("3:1", 0.25), ("2:1", 1 / 3), ("1:1", 0.5)])
def test_a_mix_is_of_lines_at_the_memory(mix: str, share: float, point: Any) -> None:
    loaded = point("spr-a1000", "dram", mix=mix, threads=8)
    assert loaded["write_mb_s"] / loaded["bandwidth_mb_s"] == pytest.approx(share, abs=0.02)


def test_owning_a_line_of_the_other_sockets_ddr_writes_its_directory(point: Any) -> None:
    def written(mix: str) -> tuple[float, int]:
        loaded = point("8468v-remote", "remote", mix=mix, latency_thread=False)
        [port] = loaded["nodes"]["remote"]["ports"]
        lines = loaded["write_mb_s"] * loaded["simulated_us"] / 64
        return lines, sum(channel["writes"] for channel in port["channels"])

    assert written("1:0") == (0, 0)
    lines, commands = written("1:1")
    # Each line stored to is written once when it is owned and once when it comes back.
    assert commands == pytest.approx(2 * lines, rel=0.03)


def test_non_temporal_stores_read_nothing(point: Any) -> None:
    loaded = point("spr-a1000", "cxl", mix="0:1", store="nontemporal", latency_thread=False)
    assert loaded["read_mb_s"] == 0
    # RwD takes five slots of M2S: 48.19 GB/s on x16 (68-byte-flit arithmetic).
    assert loaded["write_mb_s"] <= 48_190 * 1.001


def test_four_modules_carry_four_times_one(point: Any) -> None:
    loaded = point("9754-cz120", "cxl", mix="1:0", threads=40)
    ports = loaded["nodes"]["cxl"]["ports"]
    reads = [port["cxl"]["device"]["reads"] for port in ports]
    assert len(reads) == 4
    assert min(reads) > 0.98 * max(reads)


def test_the_same_job_gives_the_same_point(point: Any) -> None:
    assert point("spr-a1000", "cxl", delay=300) == point("spr-a1000", "cxl", delay=300)
