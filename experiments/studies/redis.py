"""Redis 7 of Debian, its data on DRAM, on CXL, and interleaved: what its client measures, in simulated time.

::

    functional:  redis-server starts, a script of its own sets KEYS values: more than the LLC holds
    detail:      a marker, then redis-benchmark asks for REQUESTS of them at random, from CLIENTS connections

Server and client are unmodified and share two processors; the client's clock is the model's. Both are
placed. Caches are warm where detail begins. Eleven minutes on a busy machine of two cores.
"""

from __future__ import annotations

import csv
import io
import shutil
from dataclasses import dataclass
from pathlib import Path

from cxlab.error import Code, InputError

from experiments import guests
from experiments.experiment import Asked, Report, real
from experiments.report import Cell, Column, Table

SUBJECT = real("redis-server and redis-benchmark 7 of Debian, on Linux in the guest")
PLACEMENTS = {
    "all DRAM": ["--membind", "dram"],
    "all CXL": ["--membind", "cxl"],
    "interleaved 1:1": ["--interleave", "dram,cxl"],
}
#: 200 MB of values; the LLC of the machine has 97.5 MiB (data/machines: 8468v-asic).
KEYS, VALUE_BYTES = 200_000, 1000
REQUESTS, QUICK_REQUESTS, CLIENTS = 10_000, 500, 50
PORT = 7777
#: The keys are those that redis-benchmark makes of __rand_int__: twelve digits.
LOAD = (
    f"local v = string.rep('x', {VALUE_BYTES}) "
    f"for i = 0, {KEYS - 1} do redis.call('SET', string.format('key:%012d', i), v) end"
)


@dataclass(frozen=True)
class Measured:
    """What redis-benchmark said, and what the model did."""

    requests_per_second: float
    p50_ms: float
    p99_ms: float
    run: guests.Run


def script(marker: Path, requests: int) -> str:
    """What the guest's shell runs."""
    client = f"redis-benchmark -p {PORT} -c {CLIENTS} -n {requests} -r {KEYS} --csv GET key:__rand_int__"
    return f"""redis-server --port {PORT} --save "" --appendonly no > /dev/null & server=$!
until redis-cli -p {PORT} ping > /dev/null 2>&1; do sleep 0.1; done
redis-cli -p {PORT} eval "{LOAD}" 0 > /dev/null
[ "$(redis-cli -p {PORT} dbsize)" = {KEYS} ] || exit 1
{marker}; {client}; kill -9 $server"""


def run(folder: Path, name: str, placement: list[str], requests: int) -> Measured:
    """One guest."""
    marker, out = guests.build(folder, "begin"), name.replace(" ", "-").replace(":", "-")
    options = ["--cpus", "2", "--detail", "marker", "--warm-up", *placement]
    said, ran = guests.run(folder, out, options, ["sh", "-c", script(marker, requests)])
    [row] = csv.DictReader(io.StringIO(said))
    rate, median, high = (float(row[key]) for key in ("rps", "p50_latency_ms", "p99_latency_ms"))
    return Measured(rate, median, high, ran)


def table(runs: dict[str, Measured], requests: int) -> Table:
    """Placements side by side."""

    def row(label: str, form: str, *values: float) -> list[Cell]:
        return [label, *(form.format(value) for value in values)]

    measured = runs.values()
    rows = [
        row("requests a second", "{:,.0f}", *(one.requests_per_second for one in measured)),
        row("latency, median [ms]", "{:.3f}", *(one.p50_ms for one in measured)),
        row("latency, p99 [ms]", "{:.3f}", *(one.p99_ms for one in measured)),
        row("IPC", "{:.3f}", *(one.run.ipc for one in measured)),
        *(
            row(f"loads from {node}", "{:,}", *(one.run.nodes[node].loads for one in measured))
            for node in ("dram", "cxl")
        ),
        row("simulated time [ms]", "{:.2f}", *(one.run.simulated_seconds * 1e3 for one in measured)),
    ]
    title = f"{requests:,} GET of {VALUE_BYTES} B, {CLIENTS} connections, {KEYS:,} keys; machine 8468v-asic"
    return Table(title, [Column(""), *map(Column, runs)], rows)


def measure(asked: Asked) -> Report:
    """Each placement; quick: DRAM alone, few requests."""
    if shutil.which("redis-server") is None or shutil.which("redis-benchmark") is None:
        next_step = "scripts/setup tests, or apt-get install redis-server"
        raise InputError(Code.EXPERIMENT, "redis", "redis-server is missing", "Debian's Redis 7", next_step)
    requests = QUICK_REQUESTS if asked.quick else REQUESTS
    placements = list(PLACEMENTS.items())[: 1 if asked.quick else None]
    runs = {name: run(asked.folder, name, placement, requests) for name, placement in placements}
    return Report([table(runs, requests)])
