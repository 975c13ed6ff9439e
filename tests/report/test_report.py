"""Reports in a real browser, headless Chromium: opened, clicked, read without sight or a network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cxlab import model
from cxlab.cli import plan as plan_command
from cxlab.cli import report as command
from cxlab.cli import sweep as sweep_command
from cxlab.compare.report import COMPARISON as COMPARISON_FILE
from cxlab.plan.abstract_cost_model import AbstractCost
from cxlab.report import causes, of_run
from pyarrow import parquet
from pyarrow import table as columns
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.made_run import made_run

#: Sums to the slowdown less one, as `cxlab compare --json` has it.
COMPARISON = {
    "columns": [
        {"label": "all DRAM", "slowdown": 1.0, "because": {"cpu": 0.0, "dram.memory": 0.0, "cxl.link": 0.0}},
        {
            "label": "all CXL",
            "slowdown": 1.6,
            "because": {"cpu": 0.05, "dram.memory": -0.15, "cxl.link": 0.7},
        },
    ]
}
NODES = {
    "dram": {"bandwidth_mb_s": 1000.0, "wait_in_core_ns": 20.0, "memory_latency_ns": 100.0},
    "cxl": {"bandwidth_mb_s": None, "wait_in_core_ns": None, "memory_latency_ns": None, "intervals": {}},
}
LATENCY = {"count": 10, "mean": 120.0, "stdev": 5.0, "min": 90.0, "p50": 115.0, "p99": 300.0, "max": 400.0}


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    """Debian's Chromium without a screen."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromium-driver: `scripts/setup tests` installs them")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1600"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(driver))
    yield made
    made.quit()


def run_folder(folder: Path) -> Path:
    """A finished run's folder, as `cxlab run --out` leaves it; its figures are made up."""
    folder.mkdir()
    machine = model.document(model.describe("8468v-asic"))
    stages = {name: {"media": 60.0, "to_home": 60.0} for name in ("dram", "cxl")}
    result = made_run({"execution": 0.01}, {}, stages_ns=stages)
    configuration = {
        "program": {"argv": ["sort", "</script><b>big.txt"], "cwd": "/"},
        "placement": "--membind cxl",
        "memory_bytes": {"dram": 2**31, "cxl": 2**31},
        "cpus": 1,
        "versions": {"cxlab": "0.1.0"},
        "machine": machine,
    }
    latency = {"name": "load_latency", "unit": "nanoseconds", "description": "x", "value": LATENCY}
    tree = {
        "name": "8468v-asic",
        "statistics": [],
        "parts": [{"name": "cxl", "statistics": [latency], "parts": []}],
    }
    for name, content in (
        ("config.json", configuration),
        ("summary.json", {**model.document(result), "program": configuration["program"]}),
        ("statistics.json", tree),
        ("compare.json", COMPARISON),
    ):
        (folder / name).write_text(json.dumps(content))
    # A row has what one interval moved. Of 1 ms each: 4 MB and 2 MB read are 4 and 2 GB/s.
    series = {"time_s": [0.001, 0.002], "cxl_read_bytes": [4e6, 2e6], "cxl_write_bytes": [0.0, 1e6]}
    parquet.write_table(columns(series), folder / "series.parquet")
    return folder


def test_bandwidth_over_time_is_what_each_interval_moved(tmp_path: Path) -> None:
    found = of_run.report(run_folder(tmp_path / "run"))
    [chart] = [part for part in found.parts if getattr(part, "title", "") == "Bandwidth over time"]
    drawn = {trace["name"]: list(zip(trace["x"], trace["y"], strict=True)) for trace in chart.traces}
    assert drawn == {"cxl, read": [(1, 4), (2, 2)], "cxl, written": [(1, 0), (2, 1)]}


def made(folder: Path, output: Path) -> str:
    """The report's text."""
    done = CliRunner().invoke(command.command, [str(folder), "-o", str(output)])
    assert done.exit_code == 0, done.output
    return output.read_text()


def complaints(browser: webdriver.Chrome) -> list[dict[str, Any]]:
    """Every line of the browser's console."""
    found: list[dict[str, Any]] = browser.get_log("browser")
    return found


def visible(browser: webdriver.Chrome, chart: int) -> list[Any]:
    """Whether each series of a chart is drawn, as Plotly has it."""
    script = "return document.querySelectorAll('.plot')[arguments[0]].data.map(t => t.visible ?? true)"
    found: list[Any] = browser.execute_script(script, chart)
    return found


def check_page(browser: webdriver.Chrome, path: Path) -> None:
    """Check a report: charts work by mouse and by keyboard, and each has words."""
    browser.get(path.as_uri())
    figures = browser.find_elements(By.CSS_SELECTOR, "figure[data-chart]")
    assert figures and complaints(browser) == []
    for place, figure in enumerate(figures):
        assert figure.find_elements(By.CSS_SELECTOR, ".main-svg"), "Plotly has drawn nothing"
        plot = figure.find_element(By.CSS_SELECTOR, ".plot")
        # Words, and the numbers, for who cannot see the drawing.
        assert plot.get_attribute("role") == "img" and len(plot.get_attribute("aria-label") or "") > 20
        numbers = figure.find_element(By.TAG_NAME, "table")
        assert not numbers.is_displayed()
        figure.find_element(By.TAG_NAME, "summary").click()
        assert numbers.is_displayed() and len(numbers.find_elements(By.TAG_NAME, "tr")) > 1
        # The first series goes by a click and comes back by the keyboard.
        box = figure.find_element(By.TAG_NAME, "input")
        box.click()
        assert visible(browser, place)[0] is False
        box.send_keys(Keys.SPACE)
        assert visible(browser, place)[0] is True
        # No two series differ by colour alone.
        script = (
            "return document.querySelectorAll('.plot')[arguments[0]].data.map(t => t.marker).map("
            "m => JSON.stringify([m.symbol, m.pattern?.shape && m.pattern]))"
        )
        shapes = browser.execute_script(script, place)
        assert len(set(shapes)) == len(shapes)
    # From the start of the page, Tab reaches the link past the navigation first.
    browser.refresh()
    webdriver.ActionChains(browser).send_keys(Keys.TAB).perform()
    assert browser.switch_to.active_element.text == "Skip to the content"
    for drawing in browser.find_elements(By.CSS_SELECTOR, "main svg[role=img][viewBox]"):
        assert drawing.find_element(By.TAG_NAME, "title").get_attribute("textContent")
    assert complaints(browser) == []


def test_a_run(tmp_path: Path, browser: webdriver.Chrome) -> None:
    page = tmp_path / "run.html"
    text = made(run_folder(tmp_path / "run"), page)
    assert "http-equiv" in text and "<b>big.txt" not in text.replace("&lt;", "")
    check_page(browser, page)
    headings = [heading.text for heading in browser.find_elements(By.TAG_NAME, "h2")]
    assert headings == [
        "Configuration",
        "Slowdown and its causes",
        "Memory",
        "Where a load's time goes",
        "Latency distributions",
        "Bandwidth over time",
        "Topology of 8468v-asic",
    ]
    script = "return document.querySelectorAll('.plot')[3].data.map(t => [t.name, ...t.y])"
    assert browser.execute_script(script) == [["cxl, read", 4.0, 2.0], ["cxl, written", 0.0, 1.0]]


def test_a_sweep_with_curves_beside_silicon(
    tmp_path: Path, browser: webdriver.Chrome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "curves.toml").write_text(
        '[axes]\nmachine = ["spr-a1000"]\nplacement = ["cxl"]\nworkload = ["idle", "low", "high"]\n'
        '[workloads.idle]\nbench = "latency"\n'
        '[workloads.low]\nbench = "loaded-latency"\nthreads = 1\ndelay = 20000\n'
        '[workloads.high]\nbench = "loaded-latency"\nthreads = 2\ndelay = 5000\n'
    )
    swept = CliRunner().invoke(sweep_command.command, ["curves.toml", "--out", "out"])
    assert swept.exit_code == 0, swept.output
    page = tmp_path / "sweep.html"
    made(tmp_path / "out", page)
    check_page(browser, page)
    text = browser.find_element(By.TAG_NAME, "main").text
    # EuroSys'24: the A1000 with one thread, idle and peak, are rows of validation/points.toml.
    assert "A1000-idle-1" in text and "Loaded latency" in text and "Topology of spr-a1000" in text
    assert "3 of 3 runs are finished" in browser.find_element(By.TAG_NAME, "header").text


def set_slider(browser: webdriver.Chrome, name: str, value: float) -> None:
    """Move a slider as a user does: the page hears of it."""
    script = (
        "const s = document.querySelector(`input[name='${arguments[0]}']`); "
        "s.value = arguments[1]; s.dispatchEvent(new Event('input', {bubbles: true}));"
    )
    browser.execute_script(script, name, value)


def shown(browser: webdriver.Chrome, name: str) -> str:
    value: str = browser.execute_script(f"return document.querySelector('output[name={name}]').value")
    return value


def test_the_cost_model_as_a_form(tmp_path: Path, browser: webdriver.Chrome) -> None:
    page = tmp_path / "cost.html"
    asked = ["cost", "--r-d", "10", "--r-c", "8 in 6..9", "--c", "2", "--r-t", "1.1", "--html", str(page)]
    done = CliRunner().invoke(plan_command.command, asked)
    assert done.exit_code == 0, done.output
    browser.get(page.as_uri())
    assert complaints(browser) == []
    # EuroSys'24, section 6: 67.29 % of the servers, 25.98 % less.
    assert "67.29 %" in shown(browser, "verdict") and "25.98 % less" in shown(browser, "verdict")
    ends = [AbstractCost(10, r_c, 2, 1.1).tco_saving for r_c in (6, 9)]
    assert shown(browser, "ends") == (
        f"At the ends of all intervals the saving is {100 * ends[0]:.2f} % to {100 * ends[1]:.2f} %."
    )
    # The browser's equations are those of the model, at other points as well.
    for r_d, r_c, c, r_t in ((5.0, 2.0, 4.0, 1.3), (15.0, 15.0, 0.5, 0.8), (3.0, 1.0, 1.0, 1.0)):
        for key, value in (("r_d", r_d), ("c", c), ("r_t", r_t), ("r_c", r_c)):
            for end in ("low", "high", "nominal"):
                set_slider(browser, f"{key}-{end}", value)
        model = AbstractCost(r_d, r_c, c, r_t)
        saving = 100 * model.tco_saving
        said = f"{saving:.2f} % less" if saving > 0 else f"{abs(saving):.2f} % more"
        assert said in shown(browser, "verdict"), (r_d, r_c, c, r_t)
        assert f"{100 * model.server_ratio:.2f} %" in shown(browser, "verdict")
    # Outside of the model's domain there is a sentence, and no figure.
    set_slider(browser, "r_c-nominal", 12.0)
    assert "R_c is above R_d" in shown(browser, "verdict") and shown(browser, "ends") == ""
    # A nominal value that is pushed takes the ends with it; the keyboard moves a slider.
    slider = browser.find_element(By.NAME, "r_t-high")
    before = float(slider.get_attribute("value") or "nan")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert float(slider.get_attribute("value") or "nan") > before
    assert complaints(browser) == []


@pytest.fixture
def comparison_folder(tmp_path: Path) -> Path:
    """As `cxlab compare --out` leaves it; its figures are made up."""
    figures = {"machine": "8468v-asic", "how": "run", "simulated_seconds": [0.01], "nodes": NODES}
    parts = {"cpu": [0.0, 0.1], "dram.memory": None, "cxl.link": [0.6, 0.8]}
    ends = {"interval": [1.5, 1.7], "confidence": 0.95, "because_intervals": parts}
    placed = [("--membind dram", {"interval": None, "confidence": None}), ("--membind cxl", ends)]
    columns = [
        {**column, **figures, "placement": placement, **interval, "folder": str(tmp_path / "dram")}
        for column, (placement, interval) in zip(COMPARISON["columns"], placed, strict=True)
    ]
    run_folder(tmp_path / "dram")
    document = {"sentences": ["1.60 times slower on cxl than on dram"], "columns": columns}
    (tmp_path / COMPARISON_FILE).write_text(json.dumps(document))
    return tmp_path


def test_a_comparison_is_a_page(browser: webdriver.Chrome, comparison_folder: Path) -> None:
    path = comparison_folder / "c.html"
    told = made(comparison_folder, path)
    assert "1.60 times slower on cxl than on dram." in told and "1.500 to 1.700, 95%" in told
    # A part has its interval, or is not told: neither in the chart nor in the table.
    assert "+0.600 to +0.800" in told and "too few windows" in told and "-0.150" not in told
    assert "Parts that too few windows of a sample saw are left out." in told
    check_page(browser, path)


def test_a_comparison_that_is_damaged_is_refused(comparison_folder: Path) -> None:
    (comparison_folder / COMPARISON_FILE).write_text('{"columns": []}')
    done = CliRunner().invoke(command.command, [str(comparison_folder)])
    assert done.exit_code == 2 and "is damaged, or of another CXLab" in done.output


def test_causes_add_up_in_the_chart(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(COMPARISON))
    chart = causes.of_file(tmp_path / "c.json")
    assert chart is not None and "all CXL 1.60 times" in chart.alt
    assert sum(trace["y"][1] for trace in chart.traces) == pytest.approx(0.6)


def test_a_run_of_another_version_is_refused(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run")
    summary = json.loads((folder / "summary.json").read_text())
    del summary["cpi_stack"]
    (folder / "summary.json").write_text(json.dumps(summary))
    done = CliRunner().invoke(command.command, [str(folder), "-o", str(tmp_path / "r.html")])
    assert done.exit_code != 0 and not (tmp_path / "r.html").exists()
    assert "summary.json is of another CXLab" in str(done.exception) and "cpi_stack" in str(done.exception)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(command.command, [str(tmp_path)])
    assert done.exit_code == 2 and "has neither sweep.json nor" in done.output
