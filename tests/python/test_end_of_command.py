"""Signals at a command's edges: before its modules are read, and after everything is written and said."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

#: The signal comes while Python itself ends.
SIGNALLED_AT_THE_END = """
import atexit, os, signal, sys
from cxlab import cli
atexit.register(lambda: os.kill(os.getpid(), signal.{name}))
sys.argv = ["cxlab", "explain", "fill_buffer"]
cli.main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_after_the_end_changes_no_status(name: str) -> None:
    program = [sys.executable, "-c", SIGNALLED_AT_THE_END.format(name=name)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("fill buffer: ")


#: The signal comes while a module is read: the command line's first is click.
INTERRUPTED_AT_THE_BEGINNING = """
import os, sys
class Interrupting:
    def find_spec(self, name, path, target=None):
        if {when}:
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Interrupting())
from cxlab.__main__ import run
run()
"""


@pytest.mark.parametrize("when", ["name == 'click'", "name not in ('cxlab', 'cxlab.__main__')"])
def test_ctrl_c_at_the_beginning_prints_nothing(when: str) -> None:
    program = [sys.executable, "-c", INTERRUPTED_AT_THE_BEGINNING.format(when=when)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    # A shell reports 130 of a process that SIGINT has ended.
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
