"""Guests that really boot. A boot is a few seconds, so a test asks for much in one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cxlab.run import machine as description
from cxlab.run.guest import kernel_image
from cxlab.run.guest import protocol as guest
from cxlab.run.host import jail, supervisor
from cxlab.run.host.progress import Progress
from cxlab.run.interruption import Interruption
from cxlab.run.options import placement
from cxlab.run.options.confinement import Mode
from cxlab.run.options.option import Effect
from cxlab.run.request import Outcome, Request
from cxlab.run.results.run_directory import RunDirectory
from cxlab.run.size import MIB

COMMAND = [sys.executable, "-m", "cxlab", "run"]
#: The interpreter itself. `python3` may be a shell script that looks for it, at great cost in the guest.
PYTHON = str(Path(sys.executable).resolve())
#: Runs for as long as nobody ends it. A guest that sleeps would not: its clock jumps to the next timer.
ENDLESS = "echo running; while :; do :; done"
#: Commands that `Cxlab.start` started; what a test leaves of them is killed at its end.
STARTED: list[subprocess.Popen[bytes]] = []


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
    #: a later run in the folder takes the place of an earlier one
    overwrite: bool = True

    def command(self, options: Sequence[str], program: Sequence[str]) -> list[str]:
        again = ["--overwrite"] if self.overwrite else []
        return [*COMMAND, "--detail", self.detail, "--out", str(self.out), *again, *options, "--", *program]

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
        command = self.command(options, program)
        STARTED.append(subprocess.Popen(command, cwd=self.folder, **pipes))
        return STARTED[-1]

    def summary(self) -> dict[str, Any]:
        path = self.out / "summary.json"
        return json.loads(path.read_bytes()) if path.exists() else {}


def run_as_root(folder: Path, initramfs: Path, *argv: str, keep: Path | None = None) -> Outcome:
    """Run as root of the guest, whoever runs the test: the supervisor itself, on two small nodes."""
    machine = description.load("8468v-asic")
    program = guest.Program(argv, "/", guest.Identity(0, 0, ()), {"PATH": "/usr/bin:/bin"}, placement.DEFAULT)
    size = 512 * MIB
    request = Request(
        machine=machine,
        node_bytes=(size, size),
        cpus=1,
        effect=Effect(plugin=("skew=2000000",)),
        program=program,
        detail="off",
        kernel=kernel_image.ensure().vmlinux,
        initramfs=initramfs,
        keep=keep,
    )
    directory = RunDirectory.create(folder / "out", argv[0])
    with Interruption() as interruption:
        confinement = jail.find(Mode.AUTO)
        return supervisor.run(
            request, directory, confinement, interruption, Progress(directory.partial_summary)
        )


def replay(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cxlab", "replay", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def replay_whole(trace: Path) -> dict[str, Any]:
    """The summary of a replay, whose answers are all the recorded ones."""
    document = trace.with_suffix(".json")
    done = replay(str(trace), "--json", str(document))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(document.read_bytes())
    return found
