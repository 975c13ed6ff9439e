"""Tables on a terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from cxlab import model, output
from cxlab.bench import key_figures
from cxlab.border import MachineFigures
from cxlab.cli import cli as cxlab
from cxlab.cli.machines import command as machines
from cxlab.run.guest import artefacts
from msgspec import structs
from rich.console import Console


def test_a_unit_in_brackets_stands_in_the_heading() -> None:
    """rich takes ``[ns]`` for a style, unless it is told otherwise."""
    shown = output.table(("node", "latency [ns]", "bandwidth [MB/s]"))
    shown.add_row("cxl", "284.5", "48,104")
    written = io.StringIO()
    Console(file=written, width=120).print(shown)
    assert "latency [ns]" in written.getvalue()
    assert "bandwidth [MB/s]" in written.getvalue()


def test_a_long_name_folds_and_cuts_no_number() -> None:
    """`cxlab top` shows a function of C++ on a terminal of 80 columns."""
    shown = output.table(("function", "stall", "lines", "ns each"), plain=True)
    name = "std::vector<std::pair<unsigned long, unsigned long>>::emplace_back (libstdc++.so.6, vector.tcc:9)"
    shown.add_row(name, "814.25 ns", "1,234,567", "284.5")
    written = io.StringIO()
    Console(file=written, width=80).print(shown)
    said = written.getvalue()
    assert all(number in said for number in ("814.25 ns", "1,234,567", "284.5"))
    folded = [line[:45].rstrip() for line in said.splitlines()[3:] if line.strip()]
    assert "".join(folded).replace(" ", "") == name.replace(" ", "")
    assert max(map(len, said.splitlines())) <= 80
    assert "\N{HORIZONTAL ELLIPSIS}" not in said and said.count("stall") == 1


def test_the_list_of_machines_has_a_row_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "machine_names", lambda: ["8468v-asic"])
    said = CliRunner().invoke(machines, [], catch_exceptions=False).output
    latencies = dict(re.findall(r"^ +(dram|cxl) .*? (\d+) ns ", said, re.MULTILINE))
    # CXL-DMSim, IV-B: 284 ns to the ASIC card.
    assert set(latencies) == {"dram", "cxl"}
    assert float(latencies["cxl"]) == pytest.approx(284, rel=0.02)


def with_round_figures(machine: str) -> MachineFigures:
    """As `key_figures.described`, with figures that nobody measured, which would take a minute."""
    found = model.describe(machine)
    figures = {"latency_ns": 1234.5, "bandwidth_gb_s": 1234.5}
    return structs.replace(found, nodes=[structs.replace(node, **figures) for node in found.nodes])


TRACE = Path(__file__).parents[1] / "golden" / "traces" / "qsort.trace"
#: Each prints a table or a paragraph, and boots no guest. tests/guest/test_width_of_tables.py has others.
PRINTING = (
    "bench bandwidth --machine 8468v-asic --node cxl --threads 1",
    "bench embedding --machine 8468v-asic --node cxl --threads 1",
    "bench latency --machine 8468v-asic --node cxl",
    "bench latency --machine 8468v-asic --node cxl --size 32KiB --size 4MiB",
    "bench loaded-latency --machine 8468v-asic --node cxl --threads 1 --delay 300",
    "bench loaded-latency --machine 8468v-asic --node cxl --threads 1 --delay 300 --seeds 2",
    "bench memo --machine 8468v-asic --node cxl",
    "bench stream --machine 8468v-asic --node cxl --threads 1",
    "experiment list",
    "explain json",
    "explain wait",
    "machines show 8468v-asic",
    "machines",
    "marker",
    "plan cost --r-d 10 --r-c 8 --c 2 --dram 512GiB --draws 3",
    "plan cost --r-d 10 --r-c 8..9 --c 2 --r-t 1.1 --draws 3",
    "plan prices",
    "plan spare-cores --vcpus 64",
    f"replay {TRACE} --json summary.json",
    f"replay {TRACE} --stats --json summary.json",
    "reproduce --list",
    "study run --app streaming --pages 64 --threads 1",
    "workload list",
    "workload show redis-ycsb",
)


@pytest.mark.parametrize("arguments", PRINTING)
def test_lines_fit_80_columns(arguments: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A path of this host and a line of code may be longer: nobody could use half of one."""
    monkeypatch.setattr(key_figures, "described", with_round_figures)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cxlab, arguments.split())
    assert done.exit_code == 0, done.output
    assert done.stdout.strip()
    # Whether CXLab's own folder has a long path must not decide.
    shown = done.stdout.replace(f"{artefacts.FOLDER}/", "").splitlines()
    too_long = [line for line in shown if len(line) > 80]
    assert [line for line in too_long if len(line.split()) > 1 and "#include" not in line] == []
    assert "\N{HORIZONTAL ELLIPSIS}" not in done.stdout
