"""``cxlab compare``, ``diff`` and ``show``: a chase is slower on CXL by its latency, and shares add up."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cxlab.run import machine

#: 10,000 loads over 256 MiB, whose page tables have 512 KiB of entries.
LONG = ("10000", str(256 << 20))


def cxlab(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cxlab", *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def compared(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chase of 20,000 loads over 64 MiB that no cache holds: on DRAM in a guest, on CXL by replay."""
    out = tmp_path_factory.mktemp("compared") / "out"
    program = [str(programs / "chase"), "20000", str(64 << 20)]
    done = cxlab("compare", "--detail", "marker", "--out", str(out), "--json", "-", "--", *program)
    assert done.returncode == 0, done.stderr
    (out / "compared.json").write_text(done.stdout)
    return out


@pytest.fixture
def columns(compared: Path) -> Any:
    return json.loads((compared / "compared.json").read_bytes())["columns"]


def test_a_chase_is_slower_by_the_latency_of_its_memory(columns: Any) -> None:
    dram, cxl = columns
    assert (dram["how"], cxl["how"]) == ("run", "replayed from dram")
    nodes = machine.load("8468v-asic").nodes
    # Page walks cost both about the same: less than the ratio of the latencies.
    latencies = nodes[1].latency_ns / nodes[0].latency_ns
    assert 0.8 * latencies < cxl["slowdown"] < latencies
    assert cxl["because"]["cxl.link"] > cxl["because"]["cxl.device"] > 0 > cxl["because"]["dram.memory"]
    # One load at a time: nothing is ahead of it.
    assert abs(cxl["kinds"]["bandwidth"]) + abs(cxl["kinds"]["fill_buffers"]) < 0.05 * (cxl["slowdown"] - 1)


def test_page_tables_move_with_their_pages(programs: Path, tmp_path: Path) -> None:
    """In pages of 4 KiB most loads wait for a walk, which reads CXL memory: a guest and a replay agree."""
    slowdowns = []
    for again in ([], ["--anew"]):
        command = ["compare", "--huge-pages", "never", "--detail", "marker", "--json", "-", *again]
        done = cxlab(
            *command, "--out", str(tmp_path / "out"), "--overwrite", "--", str(programs / "chase"), *LONG
        )
        assert done.returncode == 0, done.stderr
        dram, cxl = json.loads(done.stdout)["columns"]
        assert cxl["how"] == ("run" if again else "replayed from dram")
        assert cxl["parts_s"]["translation"] > 1.5 * dram["parts_s"]["translation"]
        slowdowns.append(cxl["slowdown"])
    assert slowdowns[0] == pytest.approx(slowdowns[1], rel=0.01)


def test_shares_add_up_to_the_slowdown(columns: Any) -> None:
    for column in columns:
        for shares in (column["because"], column["kinds"]):
            assert sum(shares.values()) == pytest.approx(column["slowdown"] - 1, abs=1e-9)
        assert sum(column["parts_s"].values()) == pytest.approx(sum(column["simulated_seconds"]), rel=1e-9)


def test_a_terminal_sees_how_much_of_the_recording_is_replayed(programs: Path, tmp_path: Path) -> None:
    program = [str(programs / "chase"), "100000", str(64 << 20)]
    command = ["compare", "--detail", "marker", "--out", str(tmp_path / "out"), "--", *program]
    script = ["script", "--quiet", "--return", "--command"]
    # `script` makes a terminal without a size. The whole line takes about 150 columns.
    script += ["stty cols 200; " + shlex.join([sys.executable, "-m", "cxlab", *command]), "/dev/null"]
    shown = subprocess.run(script, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout.decode()
    assert "cxlab: column 2 of 2, cxl: reading the trace, 0 s" in shown
    assert re.search(
        r"column 2 of 2, cxl: replaying, \d+ s, [\d.]+ M instructions, .*\d+ % of the trace", shown
    )


def test_the_folders_are_runs_that_diff_and_show_read(compared: Path, columns: Any) -> None:
    assert not list(compared.glob("*.trace"))
    assert sorted(path.name for path in compared.iterdir() if path.is_dir()) == ["cxl", "dram"]
    done = cxlab("diff", str(compared / "dram"), str(compared / "cxl"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        f"{columns[1]['slowdown']:.2f} times slower on --membind cxl than on --membind dram:"
    )
    brief = cxlab("show", str(compared / "dram"))
    assert brief.returncode == 0 and "where it went" in brief.stdout and "l1_hits" not in brief.stdout
    assert "core0.l1_hits" in cxlab("show", "--stats", str(compared / "cxl")).stdout


def test_the_comparison_and_each_column_make_a_page(compared: Path, columns: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = cxlab("report", str(compared), "-o", str(page))
    assert done.returncode == 0, done.stderr
    told = page.read_text()
    assert "Slowdown and its causes" in told and f"{columns[1]['slowdown']:.2f} times slower on cxl" in told
    for column in ("dram", "cxl"):
        done = cxlab("report", str(compared / column), "-o", str(page))
        assert done.returncode == 0, done.stderr
        assert f"--membind {column}" in page.read_text()


def test_what_is_no_run_is_refused(compared: Path, tmp_path: Path) -> None:
    for arguments in (("show", str(tmp_path)), ("diff", str(compared), str(compared / "dram"))):
        done = cxlab(*arguments)
        assert done.returncode == 125 and "MCH023" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--membind", "cxl"], "one column"),
        (["--membind", "cxl", "--membind", "cxl"], "twice"),
        (["--membind", "hbm", "--membind", "cxl"], "it has: dram, cxl"),
        (["--detail", "off"], "nothing to compare"),
        (["--json", "/nowhere/x.json"], "there is no folder"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_the_boot(options: list[str], said: str) -> None:
    done = cxlab("compare", *options, "--", "true")
    assert done.returncode == 125 and said in done.stderr, done.stderr
