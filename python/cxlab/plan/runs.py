"""R_d and R_c from the user's own measurements: results of `cxlab run` and of benches, or typed throughputs.

    run all on the slow tier   t_slow --+-> R_d = t_slow / t_dram
    run all in main memory     t_dram --+
    run all in CXL memory      t_cxl  ----> R_c = t_slow / t_cxl

R_d and R_c are throughput relative to a run with (almost) the whole working set on the slow tier.
EuroSys'24, section 6, calls its throughput P_s, spilled to SSD. The runs do the same work, so throughput
is work over simulated time and the work drops out. Two runs are taken to do the same work when their user
instructions agree within 5 %.

Without a slow run, R_d has to be typed. R_c then follows from the other two: R_c = R_d t_dram / t_cxl, with
the interval of the times alone. Several runs of one tier give an interval: from the slowest against the
fastest, nominal from the mean times.

A throughput that a benchmark printed (operations, bytes or requests per time) stands for a run that takes 1
/ throughput for one unit of work. All have to be in the same unit. A bench's result is a throughput too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from cxlab import file_format
from cxlab.error import Code, InputError
from cxlab.plan.bench_results import THROUGHPUT, is_bench, read_bench
from cxlab.plan.quantity import Interval, Range, number_within

SAME_WORK = 1.05  # most user instructions over fewest; retries and spinning move it by a few percent
WHOLLY = 0.9  # of the bytes; kernel, libraries and page cache stay in main memory even under membind


#: What a run may say: simulated time from a picosecond to what the model's clock holds, half a year.
SECONDS = Range(1e-12, 2**64 / 1e12)
#: Counters have 64 bits.
COUNTED = Range(1.0, 2.0**64)
BYTES = Range(0.0, 2.0**64)


class Tier(Enum):
    """Tier that a run had its working set on."""

    DRAM = "dram"
    CXL = "cxl"
    SLOW = "slow"


TIERS = ", ".join(tier.value for tier in Tier)


@dataclass(frozen=True)
class Instructions:
    """The work of a run: what it executed in user mode."""

    user: int


@dataclass(frozen=True)
class Unit:
    """The work of a throughput: one of what it counts."""

    name: str  # as typed, empty where none was
    workload: str | None = None  # what a bench did


@dataclass(frozen=True)
class Run:
    """Figures that the cost model takes from one run, or from one throughput."""

    name: str  # folder, or the throughput as typed
    tier: Tier
    seconds: float  # simulated time [s]; of a throughput, time for one unit of work [1 / its unit]
    work: Instructions | Unit


@dataclass(frozen=True)
class Measured:
    """R_d and R_c as measured, with a sentence on how."""

    r_d: Interval
    r_c: Interval
    source: str


def read_runs(argument: str) -> list[Run]:
    """Read `TIER=PATH`, a `PATH`, or a `PATH` of several. Raises `InputError`.

    A path is a run's folder, its summary.json, or a bench's JSON; without TIER it is where the bytes went.
    """
    name, equals, rest = argument.partition("=")
    if equals:
        tier = next((tier for tier in Tier if tier.value == name), None)
        if tier is None:
            raise InputError(
                Code.UNKNOWN_KEY, f"--from-run {argument}", f"tier {name!r}", f"TIER=DIR, TIER {TIERS}"
            )
        return [_read(Path(rest), tier)]
    folder = Path(argument)
    if folder.is_file():
        return [_read(folder, None)]
    if (folder / "summary.json").is_file():
        return [_read(folder, None)]
    inside = sorted(path.parent for path in folder.glob("*/summary.json"))
    inside += sorted(path for path in folder.glob("*.json") if is_bench(path))
    if not inside:
        valid = "a run's folder (with summary.json), a bench's JSON, or a folder of such"
        raise InputError(Code.UNREADABLE, f"--from-run {argument}", "holds no result", valid)
    tiers = {tier.value: tier for tier in Tier}
    return [_read(path, tiers.get(path.stem)) for path in inside]


def read_throughput(argument: str) -> Run:
    """Read `TIER=NUMBER [UNIT]`, as `cxl=118 kops/s`. Raises `InputError`."""
    field = f"--throughput {argument}"
    name, _, text = argument.partition("=")
    tier = next((tier for tier in Tier if tier.value == name), None)
    if tier is None:
        raise InputError(Code.UNKNOWN_KEY, field, f"tier {name!r}", f"TIER=NUMBER [UNIT], TIER {TIERS}")
    number, _, unit = text.strip().partition(" ")
    try:
        throughput = float(number)
    except ValueError:
        raise InputError(Code.NOT_A_QUANTITY, field, f"{number!r} is no number", "0 < throughput") from None
    if throughput not in THROUGHPUT:
        raise InputError(
            Code.OUT_OF_RANGE, field, f"is {number}", f"{THROUGHPUT.low:g} to {THROUGHPUT.high:g}"
        )
    return Run(text.strip(), tier, 1 / throughput, Unit(unit.strip()))


def measure(runs: list[Run], r_d: Interval | None) -> Measured:
    """Return R_d and R_c of `runs`; `r_d` is the typed one if there is no slow run. Raises `InputError`."""
    times = {tier: [run.seconds for run in runs if run.tier is tier] for tier in Tier}
    for tier in (Tier.DRAM, Tier.CXL):
        if not times[tier]:
            valid = f"one wholly in {tier.value}: --from-run {tier.value}=DIR or --throughput {tier.value}=N"
            raise InputError(Code.MISSING, "--from-run", f"no run of tier {tier.value}", valid)
    _check_same_work(runs)
    names = ", ".join(f"{run.tier.value}={run.name}" for run in runs)
    if times[Tier.SLOW]:
        if r_d is not None:
            raise InputError(Code.CONFLICT, "--r-d", "given beside a slow run", "one of --r-d and a slow run")
        slow = times[Tier.SLOW]
        source = f"R_d = t_slow / t_dram, R_c = t_slow / t_cxl, times of {names}"
        return Measured(_over(slow, times[Tier.DRAM]), _over(slow, times[Tier.CXL]), source)
    if r_d is None:
        raise InputError(
            Code.MISSING,
            "--from-run",
            "no run of tier slow, so nothing to relate throughput to",
            "slow=DIR or slow=N (the working set spilled), or a typed --r-d",
        )
    ratio = _over(times[Tier.DRAM], times[Tier.CXL])
    r_c = Interval(r_d.nominal * ratio.nominal, r_d.nominal * ratio.low, r_d.nominal * ratio.high)
    return Measured(r_d, r_c, f"R_c = R_d t_dram / t_cxl, R_d as typed, times of {names}")


def _over(above: list[float], below: list[float]) -> Interval:
    mean = (sum(above) / len(above)) / (sum(below) / len(below))
    return Interval(mean, min(above) / max(below), max(above) / min(below))


def _check_same_work(runs: list[Run]) -> None:
    workloads = {run.work.workload for run in runs if isinstance(run.work, Unit)} - {None}
    if len(workloads) > 1:
        found = " and ".join(sorted(f"`{workload}`" for workload in workloads))
        valid = "results of one bench with the same threads, mix, stores and pattern"
        raise InputError(Code.RUNS_DIFFER, "--from-run", found, valid)
    counted = [(run.work.user, run.name) for run in runs if isinstance(run.work, Instructions)]
    units = {run.work.name for run in runs if isinstance(run.work, Unit)}
    if len(units) > 1 or (units and counted):
        found = ", ".join(sorted(f"unit {unit!r}" for unit in units)) + (", runs" if counted else "")
        raise InputError(
            Code.RUNS_DIFFER, "--throughput", f"mixed: {found}", "one unit for all tiers, and no runs"
        )
    if counted and max(counted)[0] > SAME_WORK * min(counted)[0]:
        (least, least_name), (most, most_name) = min(counted), max(counted)
        found = f"{most_name} has {most:,} user instructions, {least_name} {least:,}"
        valid = "runs of the same work: user instructions within 5 %"
        raise InputError(Code.RUNS_DIFFER, "--from-run", found, valid)


def _read(path: Path, tier: Tier | None) -> Run:
    if not path.is_file():
        return _read_run(path / "summary.json", tier)
    return _read_bench(path, tier) if is_bench(path) else _read_run(path, tier)


def _read_bench(path: Path, tier: Tier | None) -> Run:
    result = read_bench(path)
    placed = [each for each in (Tier.DRAM, Tier.CXL) if result.node.startswith(each.value)]
    if tier is None and (len(placed) != 1 or "," in result.node):
        found = f"is on node {result.node}"
        raise InputError(Code.RUNS_DIFFER, str(path), found, f"TIER={path}, TIER {TIERS}")
    return Run(str(path), tier or placed[0], 1 / result.throughput, Unit(result.unit, result.workload))


class _Said(Struct, frozen=True):
    """A summary, as far as it is read here. A file of the user may have anything in the place of a figure."""

    complete: Any = None
    simulated_seconds: Any = None
    instructions: Any = None
    nodes: Any = None


class _Work(Struct, frozen=True):
    """Instructions of a summary."""

    user: Any = None


def _read_run(path: Path, tier: Tier | None) -> Run:
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(Code.UNREADABLE, str(path), str(error.strerror), "the summary of a run") from error
    except ValueError as error:
        raise InputError(Code.UNREADABLE, str(path), str(error), "JSON") from error
    if not isinstance(summary, dict) or "complete" not in summary:
        valid = "the summary of a run, or JSON of `cxlab bench --json`"
        raise InputError(Code.UNREADABLE, str(path), "is no result", valid)
    another = file_format.other(summary, file_format.Format.SUMMARY)
    if another is not None:
        raise InputError(Code.UNREADABLE, str(path), another, "a summary of this version")
    said = msgspec.convert(summary, _Said)
    if not said.complete:
        raise InputError(Code.RUNS_DIFFER, f"{path}: complete", "the run did not end", "a complete run")
    seconds = _figure(path, "simulated_seconds", said.simulated_seconds, SECONDS)
    work = said.instructions if isinstance(said.instructions, dict) else {}
    count = int(_figure(path, "instructions.user", msgspec.convert(work, _Work).user, COUNTED))
    traffic = _traffic(path, said.nodes)
    return Run(str(path), _tier(path, tier, traffic), seconds, Instructions(count))


def _figure(path: Path, key: str, value: object, valid: Range) -> float:
    number = number_within(value, valid)
    if number is None:
        described = f"{valid.low:g} <= {key} <= {valid.high:g}"
        raise InputError(Code.NOT_A_QUANTITY, f"{path}: {key}", f"is {value!r:.40}", described)
    return number


def _traffic(path: Path, nodes: object) -> dict[str, float]:
    """Return each node's share of the bytes read and written."""
    if not isinstance(nodes, dict) or not nodes:
        raise InputError(Code.MISSING, f"{path}: nodes", "is not there", "read_bytes and write_bytes by node")
    total: dict[str, float] = {}
    for name, node in nodes.items():
        found = node if isinstance(node, dict) else {}
        keys = ("read_bytes", "write_bytes")
        total[name] = sum(_figure(path, f"nodes.{name}.{key}", found.get(key), BYTES) for key in keys)
    everything = sum(total.values())
    return {name: amount / everything for name, amount in total.items()} if everything else {}


def _tier(path: Path, asked: Tier | None, traffic: dict[str, float]) -> Tier:
    """Return the tier that most of the traffic went to, and check it against the one asked for."""
    if asked is Tier.SLOW:
        return asked  # its traffic is to the SSD, which is no memory node
    share: dict[Tier, float] = {
        tier: sum(part for name, part in traffic.items() if name.startswith(tier.value))
        for tier in (Tier.DRAM, Tier.CXL)
    }
    tier: Tier = asked if asked is not None else max(share, key=lambda each: share[each])
    if share[tier] < WHOLLY:
        parts = ", ".join(f"{name} {100 * part:.0f} %" for name, part in traffic.items()) or "no traffic"
        valid = f"at least {100 * WHOLLY:.0f} % of the bytes on {tier.value} nodes"
        raise InputError(
            Code.RUNS_DIFFER,
            f"{path}: nodes",
            f"not wholly on one tier ({parts})",
            valid,
            "bind the run to one node (--membind)",
        )
    return tier
