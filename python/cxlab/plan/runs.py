"""R_d and R_c from the user's own measurements: results of `cxlab run` and of benches, or typed throughputs.

    run all on the slow tier   t_slow --+-> R_d = t_slow / t_dram
    run all in main memory     t_dram --+
    run all in CXL memory      t_cxl  ----> R_c = t_slow / t_cxl

R_d and R_c are throughput relative to a run with (almost) the whole working set on the slow tier
(EuroSys'24, section 6: P_s, spilled to SSD). The runs do the same work, so throughput is work over
simulated time and the work drops out. Two runs are taken to do the same work when their user instructions
agree within 5 %.

Without a slow run, R_d has to be typed; R_c then follows from the other two: R_c = R_d t_dram / t_cxl, with
the interval of the times alone. Several runs of one tier give an interval: from the slowest against the
fastest, nominal from the mean times.

A throughput that a benchmark printed (operations, bytes or requests per time) stands for a run that takes 1 /
throughput for one unit of work; all have to be in the same unit. A bench's result is a throughput too.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from cxlab.plan.bench_results import is_bench, read_bench
from cxlab.plan.error import Code, PlanError
from cxlab.plan.quantity import Interval

SAME_WORK = 1.05  # most user instructions over fewest; retries and spinning move it by a few percent
WHOLLY = 0.9  # of the bytes; kernel, libraries and page cache stay in main memory even under membind


class Tier(Enum):
    """Where a run had its working set."""

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
    """What the cost model takes from one run, or from one throughput."""

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
    """Read `TIER=PATH`, a `PATH`, or a `PATH` of several. Raises `PlanError`.

    A path is a run's folder, or a bench's JSON; the tier is where the bytes went where it is not said.
    """
    name, equals, rest = argument.partition("=")
    if equals:
        tier = next((tier for tier in Tier if tier.value == name), None)
        if tier is None:
            raise PlanError(
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
        raise PlanError(Code.UNREADABLE, f"--from-run {argument}", "holds no result", valid)
    tiers = {tier.value: tier for tier in Tier}
    return [_read(path, tiers.get(path.stem)) for path in inside]


def read_throughput(argument: str) -> Run:
    """Read `TIER=NUMBER [UNIT]`, as `cxl=118 kops/s`. Raises `PlanError`."""
    field = f"--throughput {argument}"
    name, _, text = argument.partition("=")
    tier = next((tier for tier in Tier if tier.value == name), None)
    if tier is None:
        raise PlanError(Code.UNKNOWN_KEY, field, f"tier {name!r}", f"TIER=NUMBER [UNIT], TIER {TIERS}")
    number, _, unit = text.strip().partition(" ")
    try:
        throughput = float(number)
    except ValueError:
        raise PlanError(Code.NOT_A_QUANTITY, field, f"{number!r} is no number", "0 < throughput") from None
    if not 0 < throughput < math.inf:
        raise PlanError(Code.OUT_OF_RANGE, field, f"is {number}", "0 < throughput")
    return Run(text.strip(), tier, 1 / throughput, Unit(unit.strip()))


def measure(runs: list[Run], r_d: Interval | None) -> Measured:
    """Return R_d and R_c of `runs`; `r_d` is the typed one where there is no slow run. Raises `PlanError`."""
    times = {tier: [run.seconds for run in runs if run.tier is tier] for tier in Tier}
    for tier in (Tier.DRAM, Tier.CXL):
        if not times[tier]:
            valid = f"one wholly in {tier.value}: --from-run {tier.value}=DIR or --throughput {tier.value}=N"
            raise PlanError(Code.MISSING, "--from-run", f"no run of tier {tier.value}", valid)
    _check_same_work(runs)
    names = ", ".join(f"{run.tier.value}={run.name}" for run in runs)
    if times[Tier.SLOW]:
        if r_d is not None:
            raise PlanError(Code.CONFLICT, "--r-d", "given beside a slow run", "one of --r-d and a slow run")
        slow = times[Tier.SLOW]
        source = f"R_d = t_slow / t_dram, R_c = t_slow / t_cxl, times of {names}"
        return Measured(_over(slow, times[Tier.DRAM]), _over(slow, times[Tier.CXL]), source)
    if r_d is None:
        raise PlanError(
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
        raise PlanError(Code.RUNS_DIFFER, "--from-run", found, valid)
    counted = [(run.work.user, run.name) for run in runs if isinstance(run.work, Instructions)]
    units = {run.work.name for run in runs if isinstance(run.work, Unit)}
    if len(units) > 1 or (units and counted):
        found = ", ".join(sorted(f"unit {unit!r}" for unit in units)) + (", runs" if counted else "")
        raise PlanError(
            Code.RUNS_DIFFER, "--throughput", f"mixed: {found}", "one unit for all tiers, and no runs"
        )
    if counted and max(counted)[0] > SAME_WORK * min(counted)[0]:
        (least, least_name), (most, most_name) = min(counted), max(counted)
        found = f"{most_name} has {most:,} user instructions, {least_name} {least:,}"
        valid = "runs of the same work: user instructions within 5 %"
        raise PlanError(Code.RUNS_DIFFER, "--from-run", found, valid)


def _read(path: Path, tier: Tier | None) -> Run:
    return _read_bench(path, tier) if path.is_file() else _read_run(path, tier)


def _read_bench(path: Path, tier: Tier | None) -> Run:
    if not is_bench(path):
        raise PlanError(Code.UNREADABLE, str(path), "is no result of a bench", "JSON of `cxlab bench --json`")
    result = read_bench(path)
    placed = [each for each in (Tier.DRAM, Tier.CXL) if result.node.startswith(each.value)]
    if tier is None and (len(placed) != 1 or "," in result.node):
        found = f"is on node {result.node}"
        raise PlanError(Code.RUNS_DIFFER, str(path), found, f"TIER={path}, TIER {TIERS}")
    return Run(str(path), tier or placed[0], 1 / result.throughput, Unit(result.unit, result.workload))


def _read_run(folder: Path, tier: Tier | None) -> Run:
    path = folder / "summary.json"
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanError(Code.UNREADABLE, str(path), str(error.strerror), "the summary of a run") from error
    except ValueError as error:
        raise PlanError(Code.UNREADABLE, str(path), str(error), "JSON") from error
    if not isinstance(summary, dict):
        raise PlanError(Code.UNREADABLE, str(path), "is not an object", "the summary of a run")
    if not summary.get("complete"):
        raise PlanError(Code.RUNS_DIFFER, f"{path}: complete", "the run did not end", "a complete run")
    seconds = _positive(path, "simulated_seconds", summary.get("simulated_seconds"))
    instructions = summary.get("instructions")
    user = instructions.get("user") if isinstance(instructions, dict) else None
    count = int(_positive(path, "instructions.user", user))
    traffic = _traffic(path, summary.get("nodes"))
    return Run(str(folder), _tier(path, tier, traffic), seconds, Instructions(count))


def _positive(path: Path, key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise PlanError(Code.NOT_A_QUANTITY, f"{path}: {key}", f"is {value!r}", f"0 < {key}")
    return float(value)


def _traffic(path: Path, nodes: object) -> dict[str, float]:
    """Return each node's share of the bytes read and written."""
    if not isinstance(nodes, dict) or not nodes:
        raise PlanError(Code.MISSING, f"{path}: nodes", "is not there", "read_bytes and write_bytes by node")
    total: dict[str, float] = {}
    for name, node in nodes.items():
        amounts = [node.get(key) if isinstance(node, dict) else None for key in ("read_bytes", "write_bytes")]
        for key, amount in zip(("read_bytes", "write_bytes"), amounts, strict=True):
            if isinstance(amount, bool) or not isinstance(amount, int | float) or amount < 0:
                raise PlanError(
                    Code.NOT_A_QUANTITY, f"{path}: nodes.{name}.{key}", f"is {amount!r}", f"0 <= {key}"
                )
        total[name] = sum(float(amount) for amount in amounts if isinstance(amount, int | float))
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
        raise PlanError(
            Code.RUNS_DIFFER,
            f"{path}: nodes",
            f"not wholly on one tier ({parts})",
            valid,
            "bind the run to one node (--membind)",
        )
    return tier
