"""Explains to the user why a process ended before the program did."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import IO

from cxlab.error import MachineError
from cxlab.run.errors import GuestInitFailed, GuestPanic, ModelDied, QemuDied
from cxlab.run.host import answer, memory_file

PANIC = "Kernel panic - not syncing: "
#: QEMU's exit status when the plugin finds that the model has ended (crates/qemu-plugin/src/stream.rs).
MODEL_GONE = 70
INIT = "cxlab-guest-init: "
#: QEMU 10.0: migration/migration.c
LOADING = "load of migration failed"


def of_qemu(code: int, console: Path, said: IO[bytes]) -> MachineError:
    """QEMU's: the guest's own last words on its console, or else how QEMU ended and what it said."""
    for line in console.read_bytes().decode(errors="replace").splitlines():
        if PANIC in line:
            what = line.partition(PANIC)[2].strip()
            return GuestPanic(f"the guest's kernel panicked: {what}; its last words are in {console}")
        if INIT in line:
            return GuestInitFailed(f"the guest's init: {line.partition(INIT)[2].strip()}")
    if code == MODEL_GONE:
        return ModelDied("the model ended before the program did, because somebody ended it")
    return QemuDied(_ended("QEMU", code, memory_file.tail(said)))


def could_not_load(said: IO[bytes]) -> bool:
    """Whether QEMU refused the saved boot that the guest was to begin from."""
    return LOADING in memory_file.tail(said)


def of_model(code: int, result: IO[bytes], said: IO[bytes]) -> ModelDied:
    """The model's: its own error, or else what it said."""
    error = answer.of(result).error
    return ModelDied(_ended("the model", code, memory_file.tail(said) if error is None else error.message))


def _ended(who: str, code: int, said: str) -> str:
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit status {code}"
    return f"{who} ended {how} before the program did" + (f": {said}" if said else "")
