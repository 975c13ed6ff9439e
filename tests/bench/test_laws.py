"""Laws that hold for every machine, whatever its calibration."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean
from typing import Any

import pytest
from cxlab import model
from cxlab.bench import sweep
from cxlab.bench.request import Mix, Placement, Workload
from cxlab.bench.result import counted
from cxlab.error import InputError

MACHINES = {name: model.document(model.describe(name)) for name in model.machine_names()}
NODES = [(name, node["name"]) for name, machine in MACHINES.items() for node in machine["nodes"]]
#: Spread of a load's latency on an idle machine: refresh and bank conflicts.
SPREAD_NS = 25.0
#: JESD79-5B, tRFC1 of a 16 Gb device.
REFRESH_NS = 295.0


def described(machine: str, node: str) -> dict[str, Any]:
    return next(n for n in MACHINES[machine]["nodes"] if n["name"] == node)


@pytest.mark.parametrize(("machine", "node"), NODES)
def test_reads_never_pass_the_peak_and_the_stages_are_the_latency(
    machine: str, node: str, point: Any
) -> None:
    # One core is the latency thread's.
    cores = MACHINES[machine]["spec"]["host"]["cores"]["value"]
    loaded = point(machine, node, threads=min(16, cores - 1))
    # A packer may start a window in the middle of a flit: 0.1 %.
    assert loaded["bandwidth_mb_s"] <= described(machine, node)["bandwidth_gb_s"] * 1e3 * 1.001
    # The latency thread always has one load under way, so its loads' stages fill the simulated time.
    # The ends cut two loads, of which one may meet a refresh.
    mean = sum(loaded["stages_ns"].values())
    spent, elapsed = mean * loaded["loads"], loaded["simulated_us"] * 1e3
    assert spent == pytest.approx(elapsed, abs=2 * mean + REFRESH_NS)
    assert loaded["latency_ns"] >= described(machine, node)["latency_ns"]


@pytest.mark.parametrize(("machine", "node"), NODES)
def test_little_lines_in_flight_are_at_most_what_the_cores_have(machine: str, node: str, point: Any) -> None:
    host = MACHINES[machine]["spec"]["host"]
    loaded = point(machine, node, threads=8)
    [memory] = loaded["nodes"].values()
    lines = memory["read_mb_s"] * 1e6 * memory["mean_load_latency_ns"] * 1e-9 / 64
    # Demand and prefetches in the superqueue; a load that waits is in the load queue.
    ahead = host["prefetch"]["superqueue"]["value"]
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
        assert fast["latency_ns"] > slow["latency_ns"] - 2
    idle, busy = curve[0], curve[-1]
    noise = math.hypot(*(SPREAD_NS / math.sqrt(p["loads"]) for p in (idle, busy)))
    assert busy["bandwidth_mb_s"] > 5 * idle["bandwidth_mb_s"]
    assert busy["latency_ns"] - idle["latency_ns"] > 5 * noise


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


def written_share(loaded: Any) -> float:
    """Share of writes among the lines at the memory."""
    share: float = loaded["write_mb_s"] / (loaded["read_mb_s"] + loaded["write_mb_s"])
    return share


@pytest.mark.parametrize(("mix", "share"), [("1:0", 0.0), ("2:1", 1 / 3), ("1:1", 0.5)])
def test_a_mix_is_of_lines_at_the_memory(mix: str, share: float, point: Any) -> None:
    assert written_share(point("spr-a1000", "dram", mix=mix, threads=8)) == pytest.approx(share, abs=0.02)


def test_at_3_to_1_the_share_scatters_about_what_was_asked_for_from_seed_to_seed() -> None:
    # A run sees about two rounds of the sets of the caches: lines that leave them changed are a small sample.
    workload = Workload("spr-a1000", Placement((("dram", 1),)), 8, Mix(3, 1))
    points = sweep.run([{**workload.job(0), "seed": seed} for seed in range(1, 7)], "seeds")
    shares = [written_share(model.document(one)) for one in points]
    # Six seeds have a standard error of about 0.008.
    assert fmean(shares) == pytest.approx(0.25, abs=0.015)


def hits_of_a_cycle(lines: int, ways: int, rounds: int) -> float:
    """Hits in the last of so many rounds through a set, by QLRU_H00_M1_R0_U1 of nanoBench (cacheSim.py)."""
    blocks: list[int | None] = [None] * ways
    ages = [3] * ways
    hits = 0
    for turn in range(rounds * lines):
        block = turn % lines
        if block in blocks:
            way, age = blocks.index(block), 0
            hits += turn >= (rounds - 1) * lines
        else:
            way, age = blocks.index(None) if None in blocks else ages.index(3), 1
        blocks[way], ages[way] = block, age
        older = 3 - max(ages[:way] + ages[way + 1 :])
        ages = [old if other == way else old + older for other, old in enumerate(ages)]
    return hits / lines


def test_the_llc_keeps_some_of_what_does_not_fit_of_a_thread_that_comes_round(point: Any) -> None:
    host = MACHINES["spr-a1000"]["spec"]["host"]
    ways, lines = host["llc"]["ways"]["value"], 100 << 20 >> 6
    # The hash deals lines to sets at random (Poisson).
    sets = host["llc"]["slices"]["value"] * 2048
    mean = lines / sets
    share = {k: math.exp(-mean) * mean**k / math.factorial(k) for k in range(1, 41)}
    kept = sum(share[k] * k / mean * hits_of_a_cycle(k, ways, 20) for k in share)
    # Other clusters' slices hold CXL lines, too: MICRO'23, 4.3. A run sees about three of 50 frames of 2 MiB,
    # which scatters by 0.16 from seed to seed.
    workload = Workload("spr-a1000", Placement((("cxl", 1),)), 1)
    points = sweep.run([{**workload.job(0), "seed": seed} for seed in range(1, 9)], "seeds")
    hits = [1 - counted(one.read_mb_s) / counted(one.bandwidth_mb_s) for one in points]
    assert fmean(hits) == pytest.approx(kept, abs=0.12)
    # 100 MiB are 4.4 times the slices of a cluster, which local DDR is kept to.
    near = point("spr-a1000", "dram", threads=1, latency_thread=False)
    assert near["read_mb_s"] / near["bandwidth_mb_s"] == pytest.approx(1, abs=0.02)


def test_avx2_moves_the_lines_of_avx_512_by_twice_the_accesses(point: Any) -> None:
    for mix, store in (("2:1", "ordinary"), ("1:1", "nontemporal")):
        loaded = point("spr-a1000", "cxl", mix=mix, store=store, threads=8, isa="avx2", latency_thread=False)
        # By the threads' own account, which counts a line when half of it is asked for, and at the memory.
        moved = loaded["read_mb_s"] + loaded["write_mb_s"]
        assert loaded["bandwidth_mb_s"] == pytest.approx(moved, rel=0.03)


def test_a_chase_over_the_whole_buffer_finds_fewer_open_rows_than_one_in_blocks(point: Any) -> None:
    blocks, whole = (point("8468v-asic", "dram", threads=0, chase=chase) for chase in ("blocks", "buffer"))
    [in_blocks], [over_buffer] = blocks["nodes"]["dram"]["ports"], whole["nodes"]["dram"]["ports"]
    assert over_buffer["row_hit_share"] < 0.02 < in_blocks["row_hit_share"]
    assert whole["latency_ns"] > blocks["latency_ns"]


def test_owning_a_line_of_the_other_sockets_ddr_writes_its_directory(point: Any) -> None:
    def written(mix: str) -> tuple[float, int]:
        loaded = point("8468v-remote", "remote", mix=mix, latency_thread=False, prefetch=False)
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


def test_pages_of_4_kib_cost_translation_and_nothing_else(point: Any) -> None:
    core = MACHINES["8468v-asic"]["spec"]["host"]
    cycle = 1 / 3.8
    large, small = (
        point("8468v-asic", "dram", delay=0, threads=0, pages=pages)["stages_ns"]
        for pages in ("2MiB", "4KiB")
    )
    # MLC's chase stays in 512 KiB for 4096 loads: one page of 2 MiB, which the first TLB knows.
    assert "translation" not in large
    # Or 128 pages of 4 KiB, of which the first TLB holds 96: a quarter of the loads asks the second one.
    assert core["tlb"]["second_latency"]["value"] == "7 cycles"
    assert core["tlb"]["load"]["entries"]["value"] == 96
    assert small.pop("translation") == pytest.approx((1 - 96 / 128) * 7 * cycle, rel=0.1)
    # Sums of latencies to the DRAM differ by where refreshes fall.
    assert sum(large.values()) == pytest.approx(sum(small.values()), rel=0.02)
    assert large.keys() == small.keys()


def test_page_tables_on_cxl_memory_are_walked_there(point: Any) -> None:
    walked = point("8468v-asic", "dram", threads=2, pattern="random", pages="4KiB", page_tables="cxl")
    assert walked["stages_ns"]["translation"] > 0
    with pytest.raises(InputError, match="valid"):
        point("8468v-asic", "dram", page_tables="moon")
