"""Redis 7 of Debian, its data on DRAM, on CXL, and interleaved: what its client measures, in simulated time.

::

    functional:  redis-server starts, a script of its own sets KEYS values: more than the LLC holds
    detail:      a marker, then redis-benchmark asks for REQUESTS of them at random, from CLIENTS connections

Server and client are unmodified and share two processors; the client's clock is the model's. Both are
placed. Caches are warm where detail begins. Eleven minutes on a busy machine of two cores:
``.venv/bin/python -m experiments.redis [FOLDER]``.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cxlab.cli import figures
from rich import box
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
PLACEMENTS = {
    "all DRAM": ["--membind", "dram"],
    "all CXL": ["--membind", "cxl"],
    "interleaved 1:1": ["--interleave", "dram,cxl"],
}
#: 200 MB of values; the LLC of the machine has 97.5 MiB (data/machines: 8468v-asic).
KEYS, VALUE_BYTES = 200_000, 1000
REQUESTS, CLIENTS = 10_000, 50
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
    summary: dict[str, Any]


def script(marker: Path, requests: int) -> str:
    """What the guest's shell runs."""
    client = f"redis-benchmark -p {PORT} -c {CLIENTS} -n {requests} -r {KEYS} --csv GET key:__rand_int__"
    return f"""redis-server --port {PORT} --save "" --appendonly no > /dev/null & server=$!
until redis-cli -p {PORT} ping > /dev/null 2>&1; do sleep 0.1; done
redis-cli -p {PORT} eval "{LOAD}" 0 > /dev/null
[ "$(redis-cli -p {PORT} dbsize)" = {KEYS} ] || exit 1
{marker}; {client}; kill -9 $server"""


def run(folder: Path, name: str, placement: list[str], requests: int = REQUESTS) -> Measured:
    """One guest."""
    marker, out = folder / "begin", folder / name.replace(" ", "-").replace(":", "-")
    options = ["--cpus", "2", "--detail", "marker", "--warm-up", "--out", str(out)]
    command = [sys.executable, "-m", "cxlab", "run", *options]
    program = ["sh", "-c", script(marker, requests)]
    done = subprocess.run([*command, *placement, "--", *program], capture_output=True, text=True, check=False)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    if len(rows) != 1:
        sys.exit(f"redis: {name}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    said = {key: float(value) for key, value in rows[0].items() if key != "test"}
    summary = json.loads((out / "summary.json").read_bytes())
    return Measured(said["rps"], said["p50_latency_ms"], said["p99_latency_ms"], summary)


def table(runs: dict[str, Measured]) -> Table:
    """Placements side by side."""
    shown = Table(box=box.SIMPLE_HEAD)
    for heading in ("", *runs):
        shown.add_column(heading, justify="right" if heading else "left", no_wrap=True)

    def row(label: str, *cells: str) -> None:
        shown.add_row(label, *cells)

    all_runs = runs.values()
    row("requests a second", *(f"{one.requests_per_second:,.0f}" for one in all_runs))
    row("latency, median", *(f"{one.p50_ms:.3f} ms" for one in all_runs))
    row("latency, p99", *(f"{one.p99_ms:.3f} ms" for one in all_runs))
    row("IPC", *(f"{one.summary['ipc']:.3f}" for one in all_runs))
    for node in ("dram", "cxl"):
        nodes = [one.summary["nodes"][node] for one in all_runs]
        row(f"loads from {node}", *(f"{of['loads']:,}" for of in nodes))
    row("simulated time", *(figures.seconds(one.summary["simulated_seconds"]) for one in all_runs))
    return shown


def main() -> None:
    """Run each placement, print one table."""
    if shutil.which("redis-server") is None or shutil.which("redis-benchmark") is None:
        sys.exit("redis: redis-server is missing: scripts/setup tests, or apt-get install redis-server")
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="redis-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    source = ROOT / "tests" / "programs" / "begin.c"
    subprocess.run(["gcc", "-O2", "-o", folder / "begin", source], check=True)
    console = Console(highlight=False)
    runs = {}
    for name, placement in PLACEMENTS.items():
        with console.status(f"{name} ..."):
            runs[name] = run(folder, name, placement)
    console.print(
        f"{REQUESTS:,} GET of {VALUE_BYTES} B, {CLIENTS} connections, {KEYS:,} keys; machine 8468v-asic"
    )
    console.print(table(runs))


if __name__ == "__main__":
    main()
