"""QEMU with the plugin, and the model, under one supervisor: whichever ends first, so do the others."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from guests import ENDLESS, Cxlab

Children = Callable[[int], set[int]]
#: A bound against a test that hangs, not a measurement [s].
LIMIT = 60.0
#: The program itself runs, not only its loader.
ENOUGH = 10_000
#: Less than a second of trace, more than any other file of a run [bytes].
SMALL = 1 << 20


@pytest.fixture
def cxlab(tmp_path: Path) -> Cxlab:
    return Cxlab(tmp_path, "all")


class Busy:
    """A run whose model has written down what it has so far."""

    def __init__(self, cxlab: Cxlab, children: Children) -> None:
        self.cxlab = cxlab
        trace = str(cxlab.folder / "trace")
        self.popen = cxlab.start("sh", "-c", ENDLESS, options=["--record", trace])
        deadline = time.monotonic() + LIMIT
        while self.user_instructions() < ENOUGH:
            assert self.popen.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        self.below = children(self.popen.pid)
        # In front of each is bwrap, which waits for it.
        names = {pid: Path(f"/proc/{pid}/comm").read_text() for pid in self.below}
        [self.qemu] = [pid for pid, name in names.items() if name.startswith("qemu-system")]
        [self.model] = [pid for pid, name in names.items() if name.startswith("python")]

    def user_instructions(self) -> int:
        path = self.cxlab.out / "summary.partial.json"
        return int(json.loads(path.read_bytes())["instructions"]["user"]) if path.exists() else 0

    def end(self, victim: int, number: signal.Signals) -> str:
        """Send ``number`` to ``victim``; what the command says until its end."""
        os.kill(victim, number)
        said = self.popen.communicate(timeout=LIMIT)[1].decode()
        assert not any(Path(f"/proc/{pid}/exe").exists() for pid in self.below)
        left = {path.name for path in self.cxlab.out.iterdir()}
        assert not (self.cxlab.folder / "trace.unfinished").exists()
        # A model that was killed has neither series nor statistics.
        assert left - {"series.parquet", "statistics.json"} == {"config.json", "console.log", "summary.json"}
        return said


@pytest.mark.parametrize(
    ("victim", "number", "status", "message"),
    [
        ("model", signal.SIGKILL, 125, "MCH008: the model ended by SIGKILL before the program did"),
        ("qemu", signal.SIGKILL, 125, "MCH005: QEMU ended by SIGKILL before the program did"),
        ("command", signal.SIGINT, 130, "interrupted by SIGINT"),
    ],
)
def test_whoever_ends_first_the_results_so_far_are_kept_and_marked(
    cxlab: Cxlab, children: Children, victim: str, number: signal.Signals, status: int, message: str
) -> None:
    busy = Busy(cxlab, children)
    said = busy.end({"model": busy.model, "qemu": busy.qemu, "command": busy.popen.pid}[victim], number)
    assert busy.popen.returncode == status
    assert f"cxlab: {message}" in said
    assert "the results so far are marked as not complete" in said
    summary = cxlab.summary()
    assert (summary["complete"], summary["exit_status"]) == (False, status)
    assert message in summary["reason"]
    assert summary["instructions"]["user"] >= ENOUGH
    assert summary["simulated_seconds"] > 0


def test_a_models_error_is_said_with_its_code(cxlab: Cxlab, children: Children) -> None:
    busy = Busy(cxlab, children)
    # No file of the model grows past this: the trace does.
    resource.prlimit(busy.model, resource.RLIMIT_FSIZE, (SMALL, SMALL))
    said = busy.popen.communicate(timeout=LIMIT)[1].decode()
    assert busy.popen.returncode == 125
    assert "TRC005: cannot write the trace" in said and "File too large" in said
    assert cxlab.summary()["complete"] is False


def test_a_trace_that_cannot_be_written_is_refused_before_the_guest_boots(cxlab: Cxlab) -> None:
    ran = cxlab.run("true", options=["--record", "/proc/trace"])
    assert ran.status == 125
    assert "MCH012: --record /proc/trace: No such file or directory" in ran.stderr
    assert ran.summary == {}


SWEEP = """[axes]
machine = ["8468v-asic", "8468v-fpga"]
[workloads.again]
replay = "{trace}"
"""


@pytest.mark.parametrize(
    ("command", "numbers"),
    [
        (("replay", "{trace}", "--json", "replay.json"), (signal.SIGINT, signal.SIGHUP)),
        (("sweep", "sweep.toml", "--out", "sweep"), (signal.SIGINT,)),
    ],
)
def test_the_model_hears_no_ctrl_c_from_its_start_on(
    tmp_path: Path, children: Children, command: tuple[str, ...], numbers: tuple[signal.Signals, ...]
) -> None:
    """Its supervisor ends it, and a sweep its workers. Python's own start takes a tenth of a second."""
    trace = Path(__file__).parents[1] / "golden" / "traces" / "chase.trace"
    (tmp_path / "sweep.toml").write_text(SWEEP.format(trace=trace))
    asked = [sys.executable, "-m", "cxlab", *(word.format(trace=trace) for word in command)]
    popen = subprocess.Popen(asked, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    sent = 0
    while popen.poll() is None:
        for pid in children(popen.pid):
            with suppress(FileNotFoundError, ProcessLookupError):
                if Path(f"/proc/{pid}/comm").read_text().startswith("python"):
                    os.kill(pid, numbers[sent % len(numbers)])
                    sent += 1
        time.sleep(0.001)
    assert popen.stderr is not None
    said = popen.stderr.read().decode()
    assert (popen.returncode, sent > 20, "Traceback" in said) == (0, True, False), said
