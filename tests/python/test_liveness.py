"""A process that is stopped or does nothing is named; what the supervisor slept does not count."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from cxlab.run.errors import BadRequest, Stalled
from cxlab.run.host import liveness
from cxlab.run.host.liveness import Clock, Liveness
from cxlab.run.host.process import Process
from cxlab.run.options import timeout
from cxlab.run.options.option import Given


@contextmanager
def child(*command: str) -> Iterator[Process]:
    with subprocess.Popen(command) as popen:
        yield Process(popen, popen.pid, -1, None)
        popen.kill()


def watched(process: Process, *, awaits_input: bool, seconds: float) -> None:
    """Look at a process for a while of a clock that goes fast."""
    clock = Clock()
    alive = Liveness(clock)
    while clock.seconds < seconds:
        clock.seconds += 1
        alive.look({"QEMU": process}, awaits_input=awaits_input)
        # The kernel counts a process's time in hundredths of a second.
        time.sleep(0.02)


def test_a_stopped_process_is_named_whatever_is_awaited() -> None:
    with child("sh", "-c", "while :; do :; done") as process:
        watched(process, awaits_input=False, seconds=2 * liveness.MOST_STOPPED_SECONDS)
        process.popen.send_signal(signal.SIGSTOP)
        with pytest.raises(Stalled, match=r"MCH019: QEMU \(process \d+\) was stopped by a signal for 30 s"):
            watched(process, awaits_input=True, seconds=2 * liveness.MOST_STOPPED_SECONDS)


def test_silence_is_no_end_while_input_is_awaited() -> None:
    with child("sleep", "100") as process:
        watched(process, awaits_input=True, seconds=1.5 * liveness.MOST_SILENT_SECONDS)
        with pytest.raises(Stalled, match="QEMU used no processor for 120 s"):
            watched(process, awaits_input=False, seconds=1.5 * liveness.MOST_SILENT_SECONDS)


def test_a_supervisor_that_was_stopped_has_not_waited() -> None:
    clock = Clock()
    clock._looked -= 1000
    assert clock.look() == liveness.MOST_BETWEEN_LOOKS
    assert clock.look() < 2 * liveness.MOST_BETWEEN_LOOKS


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1.5 min", 90), ("2h", 7200), (None, None)], ids=str
)
def test_a_time_limit_is_a_number_with_a_unit(text: str | None, seconds: float | None) -> None:
    assert timeout.seconds(Given({timeout.OPTION.key: text})) == seconds


@pytest.mark.parametrize("text", ["0s", "10", "-1s", "nan s", "1e9s", "10 days", "", "9" * 400 + "s"])
def test_other_time_limits_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadRequest, match="as in 90s, 10min or 2h"):
        timeout.seconds(Given({timeout.OPTION.key: text}))
