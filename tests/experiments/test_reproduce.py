"""The papers' figures: all listed, each made by an experiment or named as a gap, and made by their ids."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from cxlab.error import HostRefuses
from pyarrow import parquet

from experiments import reproduce_command, reproduction
from experiments.experiment import Kind, all_experiments
from experiments.paper_figures import MadeWith, PaperFigure, Papers, all_figures, find, papers
from experiments.reproduce_command import command
from scripts import figures_made

ROOT = Path(__file__).resolve().parents[2]
#: Figures and tables of each paper, counted in its text by hand.
COUNTED = {"micro23": (13, 4), "eurosys24": (10, 4), "dmsim": (19, 5), "micron": (14, 1)}
#: The quickest figure: a formula, and a simulated one of a few seconds.
FORMULA, SIMULATED = "eurosys24/table3", "micro23/fig7"


def reproduce(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.id)
def test_every_figure_and_table_of_a_paper_is_listed_once(paper) -> None:
    figures, tables = COUNTED[paper.id]
    wanted = [f"fig{n}" for n in range(1, figures + 1)] + [f"table{n}" for n in range(1, tables + 1)]
    assert sorted(entry.id for entry in paper.figures) == sorted(f"{paper.id}/{name}" for name in wanted)


def test_a_figure_is_made_or_says_why_not() -> None:
    for figure in all_figures():
        assert bool(figure.experiments) == (figure.entry.not_yet is None), figure.id
        assert (figure.made_with is MadeWith.NOT_YET) == (not figure.experiments)
        assert figure.why, figure.id


def test_every_experiment_of_a_paper_makes_figures_of_that_list() -> None:
    listed = {figure.id for figure in all_figures()}
    for experiment in all_experiments():
        assert bool(experiment.makes) == (experiment.group == "paper"), experiment.name
        assert set(experiment.makes) <= listed, experiment.name
        # A file is called after its paper: micro23_figure_9a makes micro23/...
        assert all(experiment.name.startswith(made.partition("/")[0]) for made in experiment.makes)


def test_a_figure_that_one_stand_in_helps_to_make_is_synthetic() -> None:
    for figure in all_figures():
        if any(experiment.subject.kind is Kind.SYNTHETIC for experiment in figure.experiments):
            assert figure.made_with is MadeWith.SYNTHETIC, figure.id


def test_deviations_name_every_figure_that_is_not_made() -> None:
    rows = re.findall(r"^\| FIG-\d+ not made: (.*?) \|", (ROOT / "DEVIATIONS.md").read_text(), re.MULTILINE)
    named = [figure for row in rows for figure in row.split(", ")]
    missing = [figure.id for figure in all_figures() if not figure.experiments]
    assert sorted(named) == sorted(missing)


def test_a_figure_that_is_made_goes_from_both_lists() -> None:
    """``scripts/figures_made.py`` makes a new figure one file, as EXTENDING says."""
    figures, deviations = (
        (ROOT / "experiments/figures.toml").read_text(),
        (ROOT / "DEVIATIONS.md").read_text(),
    )
    made = {figure.id for figure in all_figures() if figure.experiments}
    assert figures_made.without_reason(figures, made) == figures
    assert figures_made.without_rows(deviations, made) == deviations
    alone, among = "dmsim/fig18", "micro23/fig1"
    entries = msgspec.toml.decode(figures_made.without_reason(figures, {alone, among}), type=Papers).papers
    before = {entry.id for paper in papers() for entry in paper.figures if entry.not_yet}
    after = {entry.id for paper in entries for entry in paper.figures if entry.not_yet}
    assert before - after == {alone, among}
    rows = figures_made.without_rows(deviations, {alone, among})
    # A row of one figure goes; one of several stays.
    assert deviations.count("\n| FIG-") - rows.count("\n| FIG-") == 1
    assert "not made: micro23/fig2, " in rows and f"{among}," not in rows


def test_the_list_is_json_with_id_made_with_and_why() -> None:
    done = reproduce("--list", "--json")
    listed = json.loads(done.output)
    assert len(listed) == sum(map(sum, COUNTED.values()))
    valid = {"real program", "synthetic", "closed form", "not yet"}
    assert all(row["made_with"] in valid and row["why"] for row in listed)
    assert "micro23/fig9" in reproduce("--list").output


def test_a_figure_is_made_kept_and_summed_up(tmp_path: Path) -> None:
    out, picture = tmp_path / "results", tmp_path / "figure.svg"
    done = reproduce(SIMULATED, "--quick", "--out", out, "--plot", picture)
    assert done.exit_code == 0, done.output
    # A stand-in says so in the first line.
    assert done.output.startswith("workload: synthetic stand-in: ")
    assert "ranks right" in done.output
    document = json.loads((out / "micro23-fig7.json").read_text())
    assert (document["id"], document["made_with"], document["quick"]) == (SIMULATED, "synthetic", True)
    # MICRO'23, figure 7: p99 under TPP over the static 25 %.
    rows = parquet.read_table(out / "micro23-fig7.parquet").to_pylist()
    assert [row["paper"] for row in rows] == [174.0, 25.0]
    assert rows[0]["difference"] == pytest.approx(rows[0]["simulated"] - 174)
    # The plot has the paper's points beside the simulated ones.
    assert picture.read_text().startswith("<?xml")
    assert (out / "micro23-fig7.png").read_bytes().startswith(b"\x89PNG")

    assert reproduce(FORMULA, "--out", out).exit_code == 0
    shown = reproduce("--summary", out)
    # A formula proves nothing of the simulator: the paper's number leaves it out.
    assert shown.exit_code == 0 and "eurosys24/table3" in shown.output
    assert "MICRO'23: mean error of 1 ratios" in shown.output and "EuroSys'24: mean" not in shown.output


def test_all_figures_are_made_once_and_one_that_fails_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is new, and the figures that it gets are not made again."""
    out, formula = tmp_path / "new" / "results", find(FORMULA)
    fails = find("micro23/fig3")
    monkeypatch.setattr(reproduce_command, "all_figures", lambda: [fails, formula])
    make = reproduction.reproduce

    def one_fails(figure: PaperFigure, quick: bool, folder: Path) -> reproduction.Reproduction:
        if figure.id == fails.id:
            raise HostRefuses("the host refuses: no memory")
        return make(figure, quick, folder)

    monkeypatch.setattr(reproduction, "reproduce", one_fails)
    for says in (f"written: {out}/eurosys24-table3.json", f"{FORMULA}: finished in {out}"):
        done = reproduce("--all", "--quick", "--out", out)
        assert done.exit_code == 1
        assert says in done.output
        assert "micro23/fig3: not made: " in done.output and "no memory" in done.output
        assert "not made: micro23/fig3; the same command tries only these again" in done.output


def test_the_formula_is_the_papers(tmp_path: Path) -> None:
    # EuroSys'24, section 6: 32.71 % fewer servers, 25.98 % of the TCO saved, to the paper's two decimals.
    assert reproduce(FORMULA, "--out", tmp_path).output.startswith("workload: closed form: ")
    rows = parquet.read_table(tmp_path / "eurosys24-table3.parquet").to_pylist()
    assert [round(row["simulated"], 2) for row in rows] == [-32.71, -25.98]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["dmsim/fig18"], "is not reproduced yet: a property of another simulator"),
        (["micro23/fig99"], "is no figure or table of a listed paper"),
        ([], "exactly one of them"),
        (["micro23/fig9", "--list"], "2 of them are given"),
        (["micro23/fig9", "--json"], "--list --json"),
        (["--all"], "--all --out DIR"),
    ],
)
def test_what_cannot_be_made_says_what_can(arguments: list[str], says: str) -> None:
    done = reproduce(*arguments)
    assert done.exit_code == 2 and says in done.output


def test_a_folder_without_figures_is_no_summary(tmp_path: Path) -> None:
    done = reproduce("--summary", tmp_path)
    assert done.exit_code == 2 and "has no finished figure" in done.output
