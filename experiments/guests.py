"""Programs in a guest: built from tests/programs, run by ``cxlab``, and what they measured."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from cxlab import lifeline
from cxlab.border import RunResult
from cxlab.error import Code, InputError
from cxlab.run.guest import artefacts
from msgspec import Struct

ROOT = Path(__file__).resolve().parent.parent


class HostSeconds(Struct, frozen=True):
    """Time that a run took on the host [s]."""

    detail: float


class Run(RunResult, frozen=True, kw_only=True):
    """A run's summary: the model's result, and what the run took."""

    host_seconds: HostSeconds


def build(folder: Path, name: str) -> Path:
    """Compile tests/programs/NAME.c into ``folder``, unless it is there: the program."""
    program = folder / name
    if not program.exists():
        source = ROOT / "tests" / "programs" / f"{name}.c"
        subprocess.run(
            ["gcc", "-O2", f"-I{artefacts.INCLUDE}", "-pthread", "-o", program, source], check=True
        )
    return program


def build_workload(folder: Path, name: str, *flags: str) -> Path:
    """Compile the source of the workload NAME into ``folder``, unless it is there: the program."""
    program = folder / name
    if not program.exists():
        source = ROOT / "workloads" / name / f"{name}.c"
        include = f"-I{artefacts.INCLUDE}"
        subprocess.run(
            ["gcc", "-O2", "-mavx2", "-pthread", include, *flags, "-o", program, source, "-lm"], check=True
        )
    return program


def cxlab(*arguments: str | Path) -> str:
    """Run one command of ``cxlab``: its standard output.

    Raises:
        InputError: the command failed; the text is what it said.

    """
    command = [sys.executable, "-m", "cxlab", *map(str, arguments)]
    # If the experiment is killed, the command ends as it does after ctrl-C.
    bound = lifeline.of_this_process(signal.SIGTERM)
    done = subprocess.run(command, check=False, capture_output=True, text=True, preexec_fn=bound)
    if done.returncode != 0:
        said = f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
        raise InputError(Code.EXPERIMENT, f"cxlab {arguments[0]}", said, "a run that ends with status 0")
    return done.stdout


def run(
    folder: Path, name: str, options: Sequence[str | Path], program: Sequence[str | Path]
) -> tuple[str, Run]:
    """Run a program in a guest whose results go to ``folder/name``: its output, and the run's figures."""
    out = folder / name
    said = cxlab("run", "--out", out, *options, "--", *program)
    return said, msgspec.json.decode((out / "summary.json").read_bytes(), type=Run)


def run_once(
    folder: Path, name: str, options: Sequence[str | Path], program: Sequence[str | Path]
) -> tuple[str, Run]:
    """Do what `run` does, unless an earlier call with this name has finished it in this folder."""
    kept = folder / f"{name}.said"
    if not kept.exists():
        said, _ = run(folder, name, ["--overwrite", *options], program)
        kept.write_text(said)
    summary = folder / name / "summary.json"
    return kept.read_text(), msgspec.json.decode(summary.read_bytes(), type=Run)
