"""`cxlab plan` as a user meets it."""

import csv
import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cxlab.cli.plan import command as plan
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import PAPER, THREE

EXAMPLE = ["cost", "--r-d", "10", "--r-c", "8", "--c", "2"]
PNG = b"\x89PNG\r\n\x1a\n"  # W3C PNG, section 5.2


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(plan, [str(argument) for argument in arguments])


def passed(*arguments: str | Path) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_papers_example(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    result = passed(*EXAMPLE, "--r-t", "1.1", "--json", out, "--servers", "100")
    assert all(figure in result.output for figure in ("67.29 %", "32.71 %", "25.98 %", "68 with CXL"))
    content = json.loads(out.read_text())
    assert round(content["server_ratio"], 4) == 0.6729
    assert round(content["tco_saving"], 4) == 0.2598
    assert [a["key"] for a in content["assumptions"]] == ["r_d", "r_c", "c", "r_t"]


def test_every_assumption_is_listed_with_source_and_date(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    result = passed(*EXAMPLE, "--dram", "512 GiB", "--prices", "2026-01", "--json", out)
    assumptions = json.loads(out.read_text())["assumptions"]
    assert len(assumptions) == 4 + 17
    for assumption in assumptions:
        assert assumption["source"] and assumption["date"]
        assert f"{assumption['key']} = " in result.output


def test_plots_have_their_data_beside_them(tmp_path: Path) -> None:
    folder = tmp_path / "plots"
    passed("cost", "--r-d", "10 in 9..12", "--r-c", "7..9", "--c", "2", "--r-t", "1.1 in 1..1.5",
           "--draws", "50", "--plot", folder)  # fmt: skip
    for name in ("tornado", "heat_map", "break_even"):
        assert (folder / f"{name}.png").read_bytes().startswith(PNG)
        assert ElementTree.parse(folder / f"{name}.svg").getroot().tag.endswith("svg")
        assert rows(folder / f"{name}.csv")
    assert {row["input"] for row in rows(folder / "tornado.csv")} == {"r_d", "r_c", "r_t"}
    assert len(rows(folder / "assumptions.csv")) == 4
    assert not list(folder.glob(".*"))  # no half-written file


def test_the_same_command_draws_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        passed(*EXAMPLE, "--r-t", "1..1.4", "--draws", "20", "--plot", folder)
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name


def test_the_model_is_refused_where_the_working_set_fits(tmp_path: Path) -> None:
    result = run(*EXAMPLE, "--r-t", "1.1", "--dram", "512 GiB", "--servers", "100", "--working-set", "10 TiB")
    assert result.exit_code == 2
    assert "working set" in result.output and "51,679 GiB" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--r-d", "10", "--r-c", "11", "--c", "2", "--r-t", "1.1"], ["R_c", "1 <= R_c <= 10"]),
        (["--r-d", "1", "--r-c", "1", "--c", "2", "--r-t", "1.1"], ["--r-d", "1 < r_d"]),
        (["--r-d", "10", "--r-c", "-3", "--c", "2", "--r-t", "1.1"], ["--r-c", "1 <= r_c"]),
        (["--r-d", "10", "--r-c", "8", "--c", "0", "--r-t", "1.1"], ["--c", "1e-06 <= c"]),
        (["--r-d", "10", "--r-c", "8", "--c", "2", "--r-t", "-1"], ["--r-t", "0 < r_t"]),
        (["--r-d", "ten", "--r-c", "8", "--c", "2", "--r-t", "1.1"], ["--r-d", "ten"]),
        (["--r-d", "10", "--r-c", "8", "--c", "2"], ["--r-t", "--dram"]),
        (["--r-c", "8", "--c", "2", "--r-t", "1.1"], ["--r-d", "--from-run"]),
        (["--r-d", "10", "--r-c", "8", "--c", "2", "--dram", "-512 GiB"], ["--dram", "0 GiB < dram"]),
        (["--r-d", "10", "--r-c", "8", "--c", "2", "--dram", "512"], ["--dram", "GiB"]),
        (
            ["--r-d", "10", "--r-c", "8", "--c", "2", "--r-t", "1.1", "--servers", "0"],
            ["servers", "1 <= servers"],
        ),
        (
            ["--r-d", "10", "--r-c", "8", "--c", "2", "--r-t", "1", "--set", "lifetime=3 years"],
            ["--set", "--r-t"],
        ),
        (
            ["--r-d", "10", "--r-c", "8", "--c", "2", "--dram", "1 TiB", "--set", "power=3 W"],
            ["power", "power_price"],
        ),
        (["--from-run", "nowhere", "--c", "2", "--r-t", "1.1"], ["nowhere", "summary.json"]),
        (
            ["--r-d", "10", "--r-c", "8", "--c", "2", "--r-t", "1.1", "--json", "/proc/x/y.json"],
            ["/proc/x/y.json"],
        ),
    ],
)
def test_wrong_input_names_the_field_and_its_range(arguments: list[str], words: list[str]) -> None:
    result = run("cost", *arguments)
    assert result.exit_code == 2
    for word in words:
        assert word in result.output, result.output
    assert "Traceback" not in result.output


def test_throughputs_of_a_benchmark_give_the_papers_example() -> None:
    figures = [f"--throughput={tier}={n} kops/s" for tier, n in (("dram", 100), ("cxl", 80), ("slow", 10))]
    result = passed("cost", *figures, "--c", "2", "--r-t", "1.1")
    assert "67.29 %" in result.output and "measured" in result.output


def test_r_c_is_typed_or_measured() -> None:
    result = run("cost", "--throughput=dram=1", "--r-c", "3", "--c", "2", "--r-t", "1.1")
    assert result.exit_code == 2
    assert "--r-c" in result.output


numbers = st.one_of(st.floats(), st.floats(0, 20), st.integers()).map(str)
capacities = numbers.map(lambda number: f"{number} GiB")


@settings(max_examples=60, deadline=None)
@given(numbers, numbers, numbers, capacities, st.booleans())
def test_no_number_ends_in_a_traceback(r_d: str, r_c: str, c: str, last: str, priced: bool) -> None:
    end = ["--dram", last] if priced else ["--r-t", last.removesuffix(" GiB")]
    result = run("cost", "--r-d", r_d, "--r-c", r_c, "--c", c, *end, "--draws", "2")
    assert result.exit_code in (0, 2), result.exception
    assert result.exit_code == 0 or "valid: " in result.output


def test_spare_cores_says_how_the_paper_differs(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    result = passed("spare-cores", "--json", out)
    assert "26.67 %" in result.output and "26.77" in result.output
    assert json.loads(out.read_text())["improvement"]["nominal"] == pytest.approx(20 / 75)


def test_spare_cores_takes_intervals() -> None:
    # at 10 %: 25 x 0.9 / 75 = 30 %; at 30 %: 25 x 0.7 / 75 = 23.33 %
    assert "(23.33 % .. 30.00 %)" in passed("spare-cores", "--discount", "10..30 %").output


def test_spare_cores_refuses_a_negative_ratio() -> None:
    result = run("spare-cores", "--ratio", "-3 GiB")
    assert result.exit_code == 2
    assert "ratio" in result.output and "0 GiB < ratio" in result.output


def test_prices_shows_every_source() -> None:
    output = passed("prices", "--prices", "2026-01").output
    assert "Counterpoint" in output and "assumed" in output and "2025-07" in output


def test_mix_finds_one_design_for_all(tmp_path: Path) -> None:
    file, out = tmp_path / "three.toml", tmp_path / "out.json"
    file.write_text(THREE)
    passed("mix", file, "--quick", "--json", out)
    content = json.loads(out.read_text())
    assert {p["name"] for p in content["fleet"]["placements"]} == {"key-value", "analytics", "web"}
    assert content["tco_saving"] == pytest.approx(
        1 - content["fleet"]["tco"] / content["fleet_without_cxl"]["tco"]
    )


def test_json_on_standard_output_is_json_alone(tmp_path: Path) -> None:
    """In a process of its own: the solver's banner came past Python, to descriptor 1."""
    file = tmp_path / "applications.toml"
    file.write_text(passed("mix", "--example").output)
    command = [sys.executable, "-m", "cxlab", "plan", "mix", str(file), "--quick", "--json", "-"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["format"] == "cxlab-plan 1"


def test_mix_explores_and_its_break_even_price_breaks_even(tmp_path: Path) -> None:
    file, out, folder = tmp_path / "paper.toml", tmp_path / "out.json", tmp_path / "plots"
    file.write_text(PAPER.replace("r_c = 8", 'r_c = "8 in 7..9"'))
    passed("mix", file, "--draws", "5", "--json", out, "--plot", folder)
    price = json.loads(out.read_text())["break_even"]["cxl_memory_price"]
    speed = json.loads(out.read_text())["break_even"]["cxl_speed"]
    for factor, pays in ((1.02, True), (0.98, False)):
        other = tmp_path / "other.toml"
        other.write_text(PAPER.replace("r_c = 8", f"r_c = {8 * speed * factor}"))
        passed("mix", other, "--quick", "--json", out)
        assert (json.loads(out.read_text())["fleet"]["cxl_gib"] > 0) is pays
    for shift, pays in ((-0.02, True), (+0.02, False)):
        passed("mix", file, "--quick", "--json", out, "--set", f"cxl_memory_price={price + shift} USD/GiB")
        assert (json.loads(out.read_text())["fleet"]["cxl_gib"] > 0) is pays
    for name in ("tornado", "heat_map", "pareto"):
        assert (folder / f"{name}.png").read_bytes().startswith(PNG)
        assert rows(folder / f"{name}.csv")


def test_the_example_is_a_file_that_mix_takes(tmp_path: Path) -> None:
    file = tmp_path / "example.toml"
    file.write_text(passed("mix", "--example").output)
    assert "TCO saving" in passed("mix", file, "--quick").output


def test_mix_names_file_line_and_key(tmp_path: Path) -> None:
    file = tmp_path / "three.toml"
    file.write_text(THREE.replace('"64 GiB"', '"-64 GiB"'))
    result = run("mix", file)
    assert result.exit_code == 2
    assert f"{file}:13: [application] footprint" in result.output
