"""The workload of a run of a sweep: a bench, the replay of a trace, or a program in a guest.

    [workloads.NAME]
    bench = "loaded-latency"     its keys: BENCHES
    replay = "FILE.trace"
    run = ["PROGRAM", "ARGUMENT"], options = ["--cxl", "device"]

Not modelled: files that a guest's program reads are not part of the configuration. The program itself is.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from cxlab.bench.request import DELAYS, PAGES, Mix, Workload, parse_size
from cxlab.border import Instruction, Pattern, Store, StreamKernel, Work
from cxlab.error import InputError
from cxlab.sweep import placement

LOAD = ("threads", "mix", "store", "pattern")
#: Keys of each bench; they mean what the options of ``cxlab bench`` mean.
BENCHES: Mapping[str, tuple[str, ...]] = {
    "latency": ("size", "pages"),
    "loaded-latency": (*LOAD, "delay"),
    "bandwidth": LOAD,
    "stream": ("threads",),
    "memo": ("pages",),
    "embedding": ("threads",),
}
#: What says which kind a workload is, and the keys beside it.
KINDS: Mapping[str, tuple[str, ...]] = {"bench": (), "replay": (), "run": ("options",)}
#: Options of ``cxlab run`` that the sweep gives itself.
OWN_OPTIONS = ("--machine", "--set", "--membind", "--interleave", "--weighted-interleave", "--out", "--json")
THREADS = 16


@dataclass(frozen=True)
class Task:
    """Order to a process for one point of a run."""

    #: "" where the run has one point; else which one it is: an inject delay, a kernel
    point: str
    #: bench, replay, run
    kind: str
    #: the model's job, or the arguments of ``cxlab run``
    job: Any


class WrongValue(Exception):
    """A key of a workload has a value that it cannot have."""

    def __init__(self, key: str, found: str, valid: str) -> None:
        """Name the key, its value and what is valid."""
        super().__init__(f"{key}: {found}")
        self.key, self.found, self.valid = key, found, valid


@dataclass(frozen=True)
class Bench:
    """A bench of ``cxlab bench``."""

    bench: str
    have: Mapping[str, Any]

    seeded = True

    def identity(self) -> dict[str, Any]:
        """Return all that a result depends on."""
        return {"bench": self.bench, **self.have}

    def tasks(self, machine: str, settings: Mapping[str, str], placed: str, seed: int) -> list[Task]:
        """A task for each point."""
        where = placement.parse(placed)
        if where is None:
            raise WrongValue("placement", f"`{placed}` for the bench {self.bench}", "nodes of the machine")
        have = self.have
        loads = self.bench in ("loaded-latency", "bandwidth", "stream", "embedding")
        workload = Workload(
            machine,
            where,
            threads=have.get("threads", THREADS) if loads else 0,
            mix=Mix.parse(have.get("mix", "1:0")),
            store=have.get("store", "ordinary"),
            pattern=have.get("pattern", "sequential"),
            latency_thread=self.bench != "bandwidth",
            pages=have.get("pages", PAGES[0]),
        )
        tasks = []
        for point, work, delay in self._points():
            job: dict[str, Any] = dict(workload.job(delay) if work is None else workload.job_of(work))
            job["seed"] = seed
            if settings:
                job["set"] = [f"{key}={value}" for key, value in settings.items()]
            tasks.append(Task(point, "bench", job))
        return tasks

    def _points(self) -> list[tuple[str, Work | None, int]]:
        match self.bench:
            case "latency" if "size" in self.have:
                return [("", {"walk": {"size": parse_size(self.have["size"])}}, 0)]
            case "stream":
                return [(kernel, {"stream": {"kernel": kernel}}, 0) for kernel in get_args(StreamKernel)]
            case "memo":
                return [(one, {"memo": {"instruction": one}}, 0) for one in get_args(Instruction)]
            case "embedding":
                return [("", {"embedding": {}}, 0)]
            case "loaded-latency":
                delay = self.have.get("delay")
                return [(str(one), None, one) for one in (DELAYS if delay is None else (delay,))]
            case _:
                return [("", None, 0)]


@dataclass(frozen=True)
class Replay:
    """A trace of ``cxlab run --record``."""

    trace: Path

    seeded = False

    def identity(self) -> dict[str, Any]:
        """The trace's content, wherever it is."""
        return {"replay": _digest(self.trace)}

    def tasks(self, machine: str, settings: Mapping[str, str], placed: str, seed: int) -> list[Task]:
        """The one task of a replay."""
        where = placement.parse(placed)
        job: dict[str, Any] = {"trace": str(self.trace), "machine": machine}
        job["placement"] = None if where is None else [list(share) for share in where.shares]
        if settings:
            job["set"] = [f"{key}={value}" for key, value in settings.items()]
        return [Task("", "replay", job)]


@dataclass(frozen=True)
class Guest:
    """A program of this host, in a guest."""

    program: tuple[str, ...]
    executable: Path
    options: tuple[str, ...]
    #: the file's, in which the program runs
    folder: Path

    seeded = False

    def identity(self) -> dict[str, Any]:
        """The command line, the options, and the executable's content."""
        content = _digest(self.executable)
        return {"run": list(self.program), "options": list(self.options), "executable": content}

    def tasks(self, machine: str, settings: Mapping[str, str], placed: str, seed: int) -> list[Task]:
        """The one task of a program in a guest."""
        arguments = ["--machine", machine, *self.options, *placement.options(placed)]
        for key, value in settings.items():
            arguments += ["--set", f"{key}={value}"]
        return [Task("", "run", {"arguments": [*arguments, "--", *self.program], "folder": str(self.folder)})]


SweepWorkload = Bench | Replay | Guest


def parse(found: Mapping[str, Any], folder: Path) -> SweepWorkload:
    """A table ``[workloads.NAME]`` of a file in ``folder``.

    Raises:
        WrongValue: a key is unknown or has a wrong value.

    """
    kinds = [kind for kind in KINDS if kind in found]
    if len(kinds) != 1:
        named = " and ".join(kinds) or "none of them"
        raise WrongValue(kinds[-1] if kinds else "", f"has {named}", f"exactly one of {', '.join(KINDS)}")
    kind = kinds[0]
    if kind == "bench" and found["bench"] not in BENCHES:
        raise WrongValue("bench", f"`{found['bench']}` is no bench", ", ".join(BENCHES))
    valid = (kind, *KINDS[kind], *(BENCHES[found["bench"]] if kind == "bench" else ()))
    for key in found:
        if key not in valid:
            raise WrongValue(key, "unknown key", ", ".join(valid))
    match kind:
        case "bench":
            return _bench(found)
        case "replay":
            return _replay(found["replay"], folder)
        case _:
            return _guest(found, folder)


def _bench(found: Mapping[str, Any]) -> Bench:
    have = {key: value for key, value in found.items() if key != "bench"}
    choices = {"store": get_args(Store), "pattern": get_args(Pattern), "pages": PAGES}
    for key, valid in choices.items():
        if key in have and have[key] not in valid:
            raise WrongValue(key, f"`{have[key]}`", ", ".join(valid))
    for key, most in (("threads", 64), ("delay", 10_000_000)):
        value = have.get(key, 1)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise WrongValue(key, f"`{value}`", f"a whole number from 0 to {most}")
    for key, reader in (("mix", Mix.parse), ("size", parse_size)):
        try:
            reader(have.get(key, {"mix": "1:0", "size": "1KiB"}[key]))
        except (InputError, AttributeError):
            example = {"mix": "R:W, as in 2:1", "size": "a size, as in 32MiB"}[key]
            raise WrongValue(key, f"`{have[key]}`", example) from None
    return Bench(found["bench"], have)


def _replay(trace: object, folder: Path) -> Replay:
    if not isinstance(trace, str):
        raise WrongValue("replay", f"`{trace}`", "the path of a trace of `cxlab run --record`")
    path = (folder / trace).resolve()
    if not path.is_file():
        raise WrongValue("replay", f"{path} is no file", "the path of a trace of `cxlab run --record`")
    return Replay(path)


def _guest(found: Mapping[str, Any], folder: Path) -> Guest:
    lists = {key: found.get(key, []) for key in ("run", "options")}
    for key, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise WrongValue(key, f"`{value}`", 'a list of words, as in ["sort", "big.txt"]')
    for option in lists["options"]:
        if option.partition("=")[0] in OWN_OPTIONS:
            raise WrongValue("options", f"{option} is what the axes say", "other options of `cxlab run`")
    if not lists["run"]:
        raise WrongValue("run", "is empty", 'a program and its arguments, as in ["sort", "big.txt"]')
    program = lists["run"][0]
    local = folder / program
    executable = str(local) if "/" in program and local.is_file() else shutil.which(program)
    if executable is None:
        raise WrongValue("run", f"there is no program `{program}`", "a program of this host, or a path")
    return Guest(tuple(lists["run"]), Path(executable), tuple(lists["options"]), folder)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
