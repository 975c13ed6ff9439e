"""Experiments are found by name, run from any folder, and say what drives the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from cxlab import model
from cxlab.error import Code, InputError

from experiments import guests, machines
from experiments.command import command
from experiments.experiment import Kind, all_experiments, find
from experiments.studies.sampling_of_several import Subject, run

ROOT = Path(__file__).resolve().parents[2]
NAMES = [experiment.name for experiment in all_experiments()]


def test_every_file_of_papers_and_studies_is_an_experiment() -> None:
    groups = [ROOT / "experiments" / group for group in ("papers", "studies")]
    files = {path.stem for group in groups for path in group.glob("*.py")}
    assert set(NAMES) == files - {"__init__"}
    assert len(NAMES) == len(set(NAMES))


def test_the_list_has_a_row_for_each() -> None:
    done = CliRunner().invoke(command, ["list"])
    assert done.exit_code == 0, done.output
    rows = {line.split()[0] for line in done.output.splitlines() if line.split()}
    assert set(NAMES) <= rows


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_of_a_paper_names_its_paper(name: str) -> None:
    experiment = find(name)
    assert isinstance(experiment.subject.kind, Kind) and callable(experiment.module.measure)
    if experiment.group == "paper":
        # The venue and year, or the simulator, that its first line must carry.
        papers = ("MICRO'23", "EuroSys'24", "CXL-DMSim", "Micron and AMD")
        assert any(paper in experiment.about for paper in papers), experiment.about


def test_one_runs_from_another_folder_and_writes_every_number(tmp_path: Path) -> None:
    out, picture = tmp_path / "results", tmp_path / "figure.svg"
    arguments = ["experiment", "run", "micro23_figure_7", "--quick", "--out", out, "--plot", picture]
    done = subprocess.run(
        [sys.executable, "-m", "cxlab", *map(str, arguments)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # The store is a generator: the first line says so.
    assert done.stdout.splitlines()[0].startswith("workload: synthetic stand-in: ")
    document = json.loads((out / "micro23_figure_7.json").read_text())
    assert document["quick"] is True and document["workload"]["kind"] == "synthetic"
    # MICRO'23, figure 7: p99 under TPP over the static 25 %.
    assert [row["paper"] for table in document["tables"] for row in table["rows"]] == [174.0, 25.0]
    assert picture.read_text().startswith("<?xml")


def test_an_unknown_name_lists_the_known_ones() -> None:
    done = CliRunner().invoke(command, ["run", "figure_12"])
    assert done.exit_code == 2
    assert all(name in done.output for name in NAMES)


def test_a_plot_that_does_not_exist_is_refused_before_the_work(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["run", "redis", "--plot", str(tmp_path / "none" / "figure.png")])
    assert done.exit_code == 2 and "no folder" in done.output


@pytest.mark.parametrize("place", [0, 1])
def test_a_quarter_of_an_snc_node_is_as_far_as_the_whole_and_a_quarter_as_fast(
    place: int, tmp_path: Path
) -> None:
    quarter, whole = str(machines.quarter_of_snc(tmp_path)), "6430-cxl-a-2ch"
    part, node = (model.describe(name).nodes[place] for name in (quarter, whole))
    assert part.bandwidth_gb_s == pytest.approx(node.bandwidth_gb_s / 4, rel=0.01)
    found = []
    for name in (quarter, whole):
        file = tmp_path / "latency.json"
        asked = ["bench", "latency", "--machine", name, "--node", node.name, "--json", str(file)]
        subprocess.run([sys.executable, "-m", "cxlab", *asked], check=True, capture_output=True)
        found.append(json.loads(file.read_text())["points"][0]["latency_ns"])
    assert found[0] == pytest.approx(found[1], abs=1)


def test_an_executor_has_its_part_of_a_card_and_of_the_drives(tmp_path: Path) -> None:
    card = next(node for node in model.describe("spr-a1000").nodes if node.name == "cxl")
    for of_a_card in machines.LANES:
        part = model.describe(machines.executor(tmp_path, of_a_card))
        dram, cxl = part.nodes[:2]
        assert cxl.bandwidth_gb_s == pytest.approx(card.bandwidth_gb_s / of_a_card, rel=0.01)
        # A channel of DDR5-4800 is 38.4 GB/s: no core reads as much.
        assert dram.bandwidth_gb_s == pytest.approx(38.4)
        # Two PM983, each behind four lanes of PCIe 3.0 as its data sheet has it, for fifty executors.
        assert part.drive is not None
        assert part.drive.link_bytes_s == pytest.approx(2 * 3.2e9 / 50)


def test_a_run_that_was_stopped_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its summary says how far it came. Once it was taken for the whole run, and judged samples."""
    summary = json.loads((ROOT / "tests/golden/expected/chase-on-asic.json").read_bytes())
    file = tmp_path / "full" / "summary.json"
    file.parent.mkdir()
    made: list[bool] = []

    def cxlab(*_arguments: str | Path) -> str:
        complete = len(made) > 0
        made.append(complete)
        file.write_text(json.dumps({**summary, "complete": complete, "host_seconds": {"detail": 1.0}}))
        if not complete:
            raise InputError(Code.EXPERIMENT, "cxlab run", "exit status 130", "a run that ends with status 0")
        return ""

    monkeypatch.setattr(guests, "cxlab", cxlab)
    results = [run(tmp_path, "full", Subject(2, ["true"], [])) for _ in range(3)]
    assert [ran is not None and ran.complete for ran in results] == [False, True, True]
    assert made == [False, True]
