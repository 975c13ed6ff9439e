"""Guests that really boot. A boot is a few seconds, so a test asks for much in one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "cxlab", "run"]
#: Runs for as long as nobody ends it. A guest that sleeps would not: its clock jumps to the next timer.
ENDLESS = "echo running; while :; do :; done"


def _hear_ctrl_c() -> None:
    """A shell's background job ignores it, and what a background job starts does too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass(frozen=True)
class Ran:
    """A run of the command."""

    status: int
    stdout: bytes
    stderr: str
    #: summary.json
    summary: dict[str, Any]
    out: Path


@dataclass(frozen=True)
class Cxlab:
    """The command ``cxlab run``, from a folder of its own."""

    folder: Path
    #: all, marker, off
    detail: str = "off"

    def command(self, options: Sequence[str], program: Sequence[str]) -> list[str]:
        return [*COMMAND, "--detail", self.detail, "--out", str(self.out), *options, "--", *program]

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def run(self, *program: str, options: Sequence[str] = (), stdin: Any = subprocess.DEVNULL) -> Ran:
        """Run to the end; ``stdin`` is a file, or bytes to come through a pipe."""
        source = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
        done = subprocess.run(
            self.command(options, program), cwd=self.folder, capture_output=True, check=False, **source
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode(), self.summary(), self.out)

    def sh(self, script: str, **settings: Any) -> Ran:
        return self.run("sh", "-c", script, **settings)

    def start(self, *program: str, options: Sequence[str] = (), **settings: Any) -> subprocess.Popen[bytes]:
        """Start, with its streams as pipes."""
        pipes = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **settings,
        }
        return subprocess.Popen(
            self.command(options, program), cwd=self.folder, preexec_fn=_hear_ctrl_c, **pipes
        )

    def summary(self) -> dict[str, Any]:
        path = self.out / "summary.json"
        return json.loads(path.read_bytes()) if path.exists() else {}
