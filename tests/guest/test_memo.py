"""memo inside the guest reads what the simulated bench says, and two such runs are what a bill is made of."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from cxlab.bench import sweep
from cxlab.bench.request import Placement, Workload
from cxlab.cli.plan import command as plan
from cxlab.run.guest import artefacts
from guests import Cxlab

MACHINE = "8468v-asic"
NODES = ("dram", "cxl")
#: Rows of memo's tables: what, and its median [ns].
ROW = re.compile(r"^ +(256 MiB|ld|nt-ld|st|nt-st) +([\d.]+) ", re.MULTILINE)
INSTRUCTIONS = ("ld", "nt-ld", "st", "nt-st")


@dataclass(frozen=True)
class Measured:
    """Latencies that memo measured on one node [ns], and the run's folder."""

    ns: dict[str, float]
    out: Path


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Measured]:
    """A chase and the instructions on each node; inside, nodes are numbers."""
    found = {}
    for number, node in enumerate(NODES):
        where = f"--roi --node {number} --size 256MiB"
        script = f"{artefacts.MEMO} latency {where} --samples 21 --hops 512 && "
        script += f"{artefacts.MEMO} memo {where} --repeats 3000 --warm-up 10"
        cxlab = Cxlab(tmp_path_factory.mktemp(node), "marker")
        ran = cxlab.sh(script, options=["--machine", MACHINE, "--membind", node])
        assert ran.status == 0, ran.stderr
        rows = dict(ROW.findall(ran.stdout.decode()))
        found[node] = Measured({what: float(median) for what, median in rows.items()}, ran.out)
    return found


def bench(node: str, instruction: str | None) -> float:
    """Latency by the simulated bench: of a chase, or of sixteen accesses by vectors of the guest's [ns]."""
    workload = Workload(MACHINE, Placement(((node, 1),)), 0, chase="buffer")
    memo = {"memo": {"instruction": instruction, "isa": "avx2"}}
    job = workload.job(0) if instruction is None else workload.job_of(memo)
    [point] = sweep.run([job], "bench")
    assert point.latency_ns is not None
    return point.latency_ns


@pytest.mark.parametrize("node", NODES)
def test_memo_reads_what_the_simulated_bench_says(node: str, measured: dict[str, Measured]) -> None:
    assert measured[node].ns["256 MiB"] == pytest.approx(bench(node, None), rel=0.03)


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
@pytest.mark.parametrize("node", NODES)
def test_sixteen_at_once_are_as_fast_as_in_the_bench(
    node: str, instruction: str, measured: dict[str, Measured]
) -> None:
    assert measured[node].ns[instruction] == pytest.approx(bench(node, instruction), rel=0.03)


def test_real_runs_give_r_c(measured: dict[str, Measured], tmp_path: Path) -> None:
    seconds = {}
    arguments = ["cost", "--r-d", "10", "--c", "2", "--r-t", "1.1", "--draws", "10"]
    for node in NODES:
        out = measured[node].out
        seconds[node] = json.loads((out / "summary.json").read_text())["simulated_seconds"]
        arguments += ["--from-run", str(out)]  # whose tier is where its bytes went
    file = tmp_path / "cost.json"
    done = CliRunner().invoke(plan, [*arguments, "--json", str(file)])
    assert done.exit_code == 0, done.output
    document = json.loads(file.read_text())
    # The same work: R_c = R_d t_dram / t_cxl.
    r_c = 10 * seconds["dram"] / seconds["cxl"]
    assert document["r_c"] == pytest.approx(r_c)
    # Between all latency (130 ns over 284 ns, CXL-DMSim figure 10) and all bandwidth.
    assert 10 * 130 / 284 * 0.97 <= r_c < 10
