"""Programs of the host do in detail what they do without: their output is right."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import pytest
from guests import PYTHON, Cxlab, Ran
from pyarrow import parquet

SCRIPT = """sort -n numbers | sha256sum
{python} -I -S -c 'print(sum(i * i for i in range(10000)))'
{programs}/threads
{programs}/rewrite
"""


@pytest.fixture(scope="module")
def ran(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("real")
    numbers = random.Random(2).sample(range(10**6), 5000)
    (folder / "numbers").write_text("".join(f"{n}\n" for n in numbers))
    (folder / "sorted").write_text("".join(f"{n}\n" for n in sorted(numbers)))
    script = SCRIPT.format(python=PYTHON, programs=programs)
    return Cxlab(folder, "all").sh(script, options=["--interleave", "dram,cxl"])


def test_their_output_is_right(ran: Ran) -> None:
    digest = hashlib.sha256((ran.out.parent / "sorted").read_bytes()).hexdigest()
    sort, python, threads, rewrite = ran.stdout.decode().splitlines()
    assert sort == f"{digest}  -"
    assert python == str(sum(i * i for i in range(10000)))
    # Four threads and a fork; a function that is written anew a thousand times.
    assert threads == "200000 7"
    assert rewrite == str(sum(range(1001)))
    assert ran.status == 0


def latency_of_loads(ran: Ran, node: str) -> dict[str, float]:
    """From the core's issue of a load to its fill, by the clock of events, not by stages."""
    machine = json.loads((ran.out / "statistics.json").read_bytes())
    [part] = [part for part in machine["parts"] if part["name"] == node]
    [latency] = [entry["value"] for entry in part["statistics"] if entry["name"] == "load_latency"]
    return dict(latency)


def test_they_are_counted_once_and_wholly(ran: Ran) -> None:
    summary = ran.summary
    assert 20e6 < sum(summary["instructions"].values()) < 300e6
    assert sum(summary["time"].values()) == pytest.approx(summary["simulated_seconds"], rel=1e-9)
    for name, node in summary["nodes"].items():
        clocked = latency_of_loads(ran, name)
        assert node["loads"] == clocked["count"] > 0
        # The histogram keeps three digits.
        assert sum(node["stages_ns"].values()) == pytest.approx(clocked["mean"], rel=2e-3)


def test_their_counters_over_time_add_up_to_the_summary(ran: Ran) -> None:
    series = parquet.read_table(ran.out / "series.parquet").to_pydict()
    times = series["time_s"]
    assert times == sorted(times) and 0 < times[-1] <= ran.summary["simulated_seconds"]
    # The last interval is open when the program ends.
    total = sum(ran.summary["instructions"].values())
    assert 0.95 * total < sum(series["instructions"]) <= total
    for name, node in ran.summary["nodes"].items():
        assert 0.9 * node["read_bytes"] < sum(series[f"{name}_read_bytes"]) <= node["read_bytes"]
    assert "series" not in ran.summary


def test_redis_answers_in_detail(tmp_path: Path) -> None:
    ran = Cxlab(tmp_path, "all").sh("""redis-server --port 7777 --save "" > /dev/null & server=$!
until redis-cli -p 7777 ping > /dev/null 2>&1; do sleep 0.1; done
redis-cli -p 7777 set memory cxl; redis-cli -p 7777 get memory; kill $server; wait $server""")
    assert (ran.status, ran.stdout) == (0, b"OK\ncxl\n")
    assert sum(ran.summary["instructions"].values()) < 300e6
