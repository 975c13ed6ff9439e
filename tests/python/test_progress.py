"""The line that says how far a run has come, on a terminal and in a log: by arithmetic, then of a replay."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cxlab.border import Instructions, SoFar
from cxlab.cli import cli, columns, session
from cxlab.output import duration
from cxlab.run.errors import BadRequest
from cxlab.run.host import progress, replay
from cxlab.run.host.jail import NoneAtAll
from cxlab.run.host.progress import Goal, Progress
from cxlab.run.interruption import Interruption
from cxlab.run.options.sampling import parse as sample

GOLDEN = Path(__file__).parents[1] / "golden"
#: A recorded sort of four million instructions.
TRACE = GOLDEN / "traces" / "qsort.trace"
#: Between two reports and two lines [s]: a quick host takes a tenth of a second for a sampled replay.
OFTEN = 0.002
#: The command with such reports.
OFTEN_TOLD = f"""
import sys
from cxlab.cli import main
from cxlab.run.host import progress, replay
progress.PERIOD = replay.PERIOD = {OFTEN}
sys.argv[0] = "cxlab"
main()
"""
#: What a line of a replay says.
REPLAYING = re.compile(
    r"cxlab: replaying, (?P<seconds>\d+) s, (?P<done>[\d.]+) M instructions(, (?P<speed>[\d.]+) M/s)?"
    r"(, simulated (?P<about>about )?(?P<simulated>[\d.]+) s"
    r", (about )?(?P<slower>[\d,]+) times slower than real)?"
    r", (?P<share>\d+) % of the trace(, about (?P<left>\d+ \w+) left)?"
)


def so_far(
    millions: float, simulated: float | None, trace_read: float | None = None, *, sampled: bool = False
) -> SoFar:
    half = round(millions * 1e6 / 2)
    return SoFar(Instructions(half, half), sampled, simulated, trace_read)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The last line of a log, for reports by the second in which they come."""
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def last(
        reports: dict[int, SoFar],
        goal: Goal | None = None,
        *,
        terminal: bool = False,
        of: str = "",
        advice: str | None = None,
        whole: bool = False,
    ) -> str:
        begun = clock[0]
        shown = Progress(None, terminal=terminal, of=of, goal=goal, advice=advice)
        shown.enter("replaying")
        for second, report in reports.items():
            clock[0] = begun + second
            shown.learn(report)
            shown.update()
        if not reports:
            shown.update()
            clock[0] = begun + 61
            shown.update()
        text = capfd.readouterr().err
        if whole:
            return text
        return text[text.rindex("\r") :] if terminal else text.splitlines(keepends=True)[-1]

    return last


def test_a_line_has_instructions_speed_slowdown_and_what_is_left(said: Callable[..., str]) -> None:
    # 120 M in 100 s; 100 s for 0.05 s; a quarter took 100 s, so three quarters take 300 s.
    assert said({0: so_far(0, 0.0, 0.0), 100: so_far(120, 0.05, 0.25)}) == (
        "cxlab: replaying, 100 s, 120.0 M instructions, 1.20 M/s, simulated 0.050 s, "
        "2,000 times slower than real, 25 % of the trace, about 5 minutes left\n"
    )


def test_a_sample_has_a_slowdown_as_far_as_its_windows_tell(said: Callable[..., str]) -> None:
    none = so_far(0, None, 0.0, sampled=True)
    line = said({0: none, 100: so_far(3000, None, 0.5, sampled=True)})
    assert line.endswith("30.00 M/s, 50 % of the trace, about 100 seconds left\n")
    # 100 s for 0.02 s since the first window.
    windows = {100: so_far(3000, 0.03, 0.1, sampled=True), 200: so_far(6000, 0.05, 0.2, sampled=True)}
    assert said({0: none, **windows}).endswith(
        "30.00 M/s, simulated about 0.050 s, about 5,000 times slower than real, 20 % of the trace, "
        "about 13 minutes left\n"
    )


def test_a_beginning_has_no_forecast(said: Callable[..., str]) -> None:
    nothing = so_far(0, 0.0, 0.0)
    assert said({0: nothing, 100: nothing}).endswith("100 s, 0.0 M instructions, 0 % of the trace\n")


def test_time_in_which_nothing_is_simulated_is_no_slowdown(said: Callable[..., str]) -> None:
    """Before a region of detail the model waits: here 500 s, then 60 s for 60 M."""
    waiting, begins = so_far(1, 0.001), so_far(1.0001, 0.001)
    line = said({5: waiting, 505: begins, 565: so_far(61.0001, 0.061)})
    assert line.endswith(
        "565 s, 61.0 M instructions, 1.00 M/s, simulated 0.061 s, 1,000 times slower than real, "
        "end not known\n"
    )


def test_a_live_run_with_a_known_end_says_what_is_left(said: Callable[..., str]) -> None:
    nothing = so_far(0, 0.0)
    earlier = Goal("an earlier column's instructions", instructions=200_000_000)
    line = said({0: nothing, 100: so_far(50, 0.05)}, earlier)
    assert line.endswith(", 25 % of an earlier column's instructions, about 5 minutes left\n")
    # It may take another path and execute more.
    line = said({0: nothing, 100: so_far(300, 0.05)}, earlier)
    assert line.endswith(", 100 % of an earlier column's instructions\n")
    until = Goal("--until", simulated_seconds=0.2)
    line = said({0: nothing, 100: so_far(50, 0.05)}, until)
    assert line.endswith(", 25 % of --until, about 5 minutes left\n")
    assert said({0: nothing, 100: so_far(50, None)}, until).endswith("0.50 M/s, end not known\n")


def test_a_live_run_whose_end_nobody_knows_says_so(said: Callable[..., str]) -> None:
    assert said({0: so_far(0, 0.0), 100: so_far(50, 0.05)}).endswith(" than real, end not known\n")
    # Before the model has said anything there is nothing to be known of.
    assert said({}) == "cxlab: replaying, 61 s\n"


LONG_LINE = {0: so_far(0, 0.0, 0.0), 100: so_far(120, 0.05, 0.25)}


@pytest.mark.parametrize(
    ("columns", "of", "line"),
    [
        (
            200,
            "",
            "replaying, 100 s, 120.0 M instructions, 1.20 M/s, simulated 0.050 s, 2,000 times slower "
            "than real, 25 % of the trace, about 5 minutes left",
        ),
        (80, "", "replaying, 100 s, 120.0 M, 1.20 M/s, 2,000x slower, 5 min left"),
        (
            80,
            "column 2 of 3, cxl: ",
            "column 2 of 3, cxl: 100 s, 120.0 M, 1.20 M/s, 2,000x slower, 5 min left",
        ),
        (30, "", "replaying, 100 s, 120."),
    ],
)
def test_on_a_terminal_the_line_takes_one_row(
    monkeypatch: pytest.MonkeyPatch, said: Callable[..., str], columns: int, of: str, line: str
) -> None:
    """A row that has wrapped stays when the line is written over."""
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    shown = said(LONG_LINE, terminal=True, of=of)
    assert shown == f"\r\x1b[Kcxlab: {line}" and len(line) + len("cxlab: ") < columns


def test_a_long_run_whose_end_nobody_knows_is_advised_to_sample_once(said: Callable[..., str]) -> None:
    reports = {0: so_far(0, 0.0), 99: so_far(99, 0.05), 200: so_far(101, 0.1), 300: so_far(150, 0.15)}
    lines = said(reports, advice="Do this.", whole=True).splitlines()
    assert [line for line in lines if "Do this." in line] == [
        "cxlab: 100 M instructions are timed so far. Do this."
    ]
    assert lines.index("cxlab: 100 M instructions are timed so far. Do this.") == 1
    known = Goal("an earlier column's instructions", instructions=200_000_000)
    assert "Do this." not in said(reports, known, advice="Do this.", whole=True)


@pytest.mark.parametrize(
    ("arguments", "advised"),
    [
        ("run", True),
        ("run --membind cxl --until 1ms", True),
        ("run --sample auto", False),
        ("run --profile", False),
        ("run --detail marker", False),
        ("run --cpus 2", False),
        ("compare", True),
    ],
)
def test_the_advice_is_given_where_it_can_be_followed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: str, advised: bool
) -> None:
    found: list[str | None] = []

    def stop(*_: Any, advice: str | None = None, **__: Any) -> None:
        found.append(advice)
        raise BadRequest("far enough")

    monkeypatch.setattr(session, "Progress", stop)
    monkeypatch.setattr(columns, "Progress", stop)
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(cli, [*arguments.split(), "--", "true"])
    assert [advice is not None and "--sample auto" in advice for advice in found] == [advised]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 second"), (1.4, "1 second"), (119.4, "119 seconds"), (150, "2 minutes"), (7200, "2 hours")],
)
def test_durations_are_whole(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.fixture
def expected() -> Any:
    return json.loads((GOLDEN / "expected" / "qsort.json").read_bytes())


@pytest.mark.parametrize("sampled", [None, "detail=20k,warm=10k,every=200k"])
def test_a_replay_fills_a_log_and_its_figures_rise_to_the_whole(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], expected: Any, sampled: str | None
) -> None:
    monkeypatch.setattr(progress, "LOG_PERIOD", OFTEN)
    monkeypatch.setattr(replay, "PERIOD", OFTEN)
    shown = Progress(None, terminal=False, phase=replay.READING)
    begun = time.monotonic()
    with Interruption() as interruption:
        replay.run(TRACE, None, NoneAtAll(None), interruption, shown, sample=sample(sampled, 1))
    took = time.monotonic() - begun
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("cxlab: reading the trace, ")
    found = [match for line in lines if (match := REPLAYING.fullmatch(line))]
    assert len(found) >= 3 and len(lines) <= took / OFTEN, lines
    done = [float(match["done"]) for match in found]
    shares = [int(match["share"]) for match in found]
    assert done == sorted(done) and shares == sorted(shares)
    whole = sum(expected["instructions"].values()) / 1e6
    assert 0.1 * whole < done[-1] <= whole + 0.05
    # Records and instructions go together in a program that does one thing.
    assert done[-1] / whole == pytest.approx(shares[-1] / 100, abs=0.2)
    assert found[-1]["speed"] is not None
    assert found[-1]["slower"] is not None
    assert (found[-1]["about"] is None) == (sampled is None)
    # The last line comes at most a tenth of the replay ahead of its end.
    assert float(found[-1]["simulated"]) <= 1.1 * expected["simulated_seconds"]


def test_a_terminal_sees_a_replay_go_on() -> None:
    # `script` makes a terminal without a size. The whole line takes about 120 columns.
    command = "stty cols 200; " + shlex.join([sys.executable, "-c", OFTEN_TOLD, "replay", str(TRACE)])
    script = ["script", "--quiet", "--return", "--command", command, "/dev/null"]
    shown = subprocess.run(script, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout.decode()
    painted = [match for part in re.split(r"\r\x1b\[K|\r\n", shown) if (match := REPLAYING.fullmatch(part))]
    assert len(painted) >= 2 and "M/s" in painted[-1][0], shown
    # The table comes on a clear line.
    assert re.search(r"\r\x1b\[K(\r\n|\x1b\[\d+m)*8468v-asic", shown), shown
