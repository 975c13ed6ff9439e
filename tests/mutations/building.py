"""Describes and builds machines in processes of their own: what ends such a process, ends no test.

::

    a test  --file-->  fork server, which imported the model once  --fork-->  describe, build, replay nothing
       ^                                                                               |
       +------------------------------- status and words ------------------------------+

A process that imports the model anew takes half a second; one that is forked takes a few hundredths.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import traceback
from pathlib import Path

from cxlab import model
from cxlab.error import InputError, MachineError

#: A machine takes a tenth of this [bytes].
MOST_BYTES = 8 << 30
#: Longest time of one machine [s].
LIMIT = 25
REFUSED = 2
_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(["cxlab.model"])


class Defect(Exception):
    """The reader's own: no file may bring it about."""


def _build(machine: Path, trace: Path, words: Path) -> None:
    """In the forked process: what it says goes to a file, also what a panic of the model says."""
    with words.open("wb") as file:
        os.dup2(file.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    try:
        model.describe(str(machine))
        model.replay(json.dumps({"trace": str(trace), "machine": None, "timeline": None, "sample": None}))
    except InputError as error:
        os.write(2, str(error).encode())
        os._exit(REFUSED)
    except BaseException:
        os.write(2, traceback.format_exc().encode())
        os._exit(1)


def build(machine: Path, trace: Path) -> None:
    """Build the machine that a trace names.

    Raises `MachineError` for one that is refused, `Defect` for one that is neither refused nor built.
    """
    words = machine.parent / "words"
    process = _server.Process(target=_build, args=(machine, trace, words))
    process.start()
    process.join(LIMIT)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise Defect(f"it is not built after {LIMIT} s")
    said = words.read_text(errors="replace") if words.exists() else ""
    if process.exitcode == REFUSED:
        raise MachineError(said)
    if process.exitcode != 0:
        raise Defect(f"status {process.exitcode}: {said}")
