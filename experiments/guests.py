"""Programs in a guest: built from tests/programs, run by ``cxlab``, and what they measured."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from cxlab import lifeline
from cxlab.asked_machine import settings_of
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
    return _compiled(folder / name, ROOT / "tests" / "programs" / f"{name}.c")


def build_workload(folder: Path, name: str, *flags: str) -> Path:
    """Compile the source of the workload NAME into ``folder``, unless it is there: the program."""
    source = ROOT / "workloads" / name / f"{name}.c"
    return _compiled(folder / name, source, "-mavx2", *flags)


def _compiled(program: Path, source: Path, *flags: str) -> Path:
    if not program.exists():
        include = f"-I{artefacts.INCLUDE}"
        subprocess.run(["gcc", "-O2", *flags, include, "-pthread", "-o", program, source, "-lm"], check=True)
    return program


def text_file(folder: Path, lines: int, name: str = "text") -> Path:
    """Write lines of numbers that look drawn, for programs that sort or compress: the file."""
    file = folder / name
    file.write_text("".join(f"{line * 7919 % 100003} {line * 31 % 977}\n" for line in range(lines)))
    return file


def options_of(machine: str) -> list[str]:
    """Options of a command for a machine and its settings."""
    words = [word for setting in settings_of(machine) for word in ("--set", setting)]
    return ["--machine", str(machine), *words]


def cxlab(*arguments: str | Path) -> str:
    """Run one command of ``cxlab``: its standard output.

    Raises:
        InputError: the command failed; the text is what it said.

    """
    return _said([sys.executable, "-m", "cxlab", *arguments], f"cxlab {arguments[0]}")


def run_tool(tool: Path, *arguments: str | Path) -> None:
    """Run a program of CXLab's own on this host.

    Raises:
        InputError: it failed; the text is what it said.

    """
    _said([tool, *arguments], str(tool))


def _said(command: Sequence[str | Path], name: str) -> str:
    # If the experiment is killed, the command ends as it does after ctrl-C.
    bound = lifeline.of_this_process(signal.SIGTERM)
    done = subprocess.run(command, check=False, capture_output=True, text=True, preexec_fn=bound)
    if done.returncode != 0:
        said = f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
        raise InputError(Code.EXPERIMENT, name, said, "a run that ends with status 0")
    return done.stdout


def run(
    folder: Path, name: str, options: Sequence[str | Path], program: Sequence[str | Path]
) -> tuple[str, Run]:
    """Run a program in a guest whose results go to ``folder/name``: its output, and the run's figures."""
    said = cxlab("run", "--out", folder / name, *options, "--", *program)
    return said, _summary(folder, name)


def run_once(
    folder: Path, name: str, options: Sequence[str | Path], program: Sequence[str | Path]
) -> tuple[str, Run]:
    """Do what `run` does, unless an earlier call with this name has finished it in this folder."""
    kept = folder / f"{name}.said"
    if not kept.exists():
        said, _ = run(folder, name, ["--overwrite", *options], program)
        kept.write_text(said)
    return kept.read_text(), _summary(folder, name)


def _summary(folder: Path, name: str) -> Run:
    return msgspec.json.decode((folder / name / "summary.json").read_bytes(), type=Run)


def windows(results: Iterable[RunResult]) -> str:
    """Fewest and most windows of these runs, as far as they are sampled."""
    counts = [result.sampling.windows for result in results if result.sampling]
    return f"{min(counts, default=0)} to {max(counts, default=0)}"
