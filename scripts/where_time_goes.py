"""``make profile``: where the simulator's time goes, by part of the machine, in instructions of this host.

Programs of tests/programs are recorded once and replayed under valgrind's callgrind, which counts every
instruction of the model and nothing of Python's start. An instruction belongs to the part of its source
line, inlined or not. Rust's own library counts for the function that it is inlined into. Instructions
are not seconds: what waits for this host's caches is not seen, nor the thread that unpacks the trace. Two
minutes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from cxlab import model
from cxlab.output import console
from cxlab.run.guest import artefacts
from cxlab.run.host.answer import Answer
from rich import box
from rich.table import Table

SOURCES = Path("tests/programs")
#: Program and its argument: work in the caches (80 kB are sorted), work that waits for memory (3 x 3 MiB).
PROGRAMS = (("qsort", "20000"), ("triad", str(3 << 20)))
#: The model's own function that is all of a replay; it exists once for each kind of source.
COUNTED = "_model::job::replay_from*"
#: Functions that are named.
FUNCTIONS = 15
#: Of paths of sources: (what it finds, the part). The first that fits.
PARTS = (
    (r"crates/model/src/([a-z]+)[/.]", r"\1"),
    (r"crates/(kernel|access|py)/", r"crates/\1"),
)
ELSEWHERE = "Rust's and C's libraries"
#: Parts below this in every program are one row.
LEAST = 0.005
#: A line of callgrind's that names a file or a function, c: a callee's; the name stands there the first time.
NAME = re.compile(r"(c?)f([line])=\((\d+)\)(?: (.*))?")


@dataclass
class Profile:
    """Instructions of a replay."""

    guest: int
    parts: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)

    @property
    def host(self) -> int:
        """Instructions of the host, of all parts."""
        return self.parts.total()


def part_of(path: str) -> str | None:
    """Part of the model that a source belongs to, or none if the source is not ours."""
    for pattern, part in PARTS:
        if found := re.search(pattern, path):
            return found.expand(part)
    return None


def costs(lines: Iterator[str]) -> Iterator[tuple[str, str, str, int]]:
    """Callgrind's file: a function, the file that it begins in, the file of a line of it, instructions."""
    names: dict[tuple[str, str], str] = {}
    function = begins = here = ""
    for line in lines:
        if named := NAME.match(line):
            callee, kind, number, name = named.groups()
            key = ("function" if kind == "n" else "file", number)
            if name is not None:
                names[key] = name
            if callee:
                continue
            if kind == "n":
                function, here = names[key], begins
            elif kind == "l":
                begins = here = names[key]
            else:
                here = names[key]
        elif line.startswith("calls="):
            next(lines)  # what the callee took
        elif line[:1] in "+-*0123456789" and line.strip():
            yield function, begins, here, int(line.split()[1])


def profile(folder: Path, name: str, argument: str) -> Profile:
    """Record a program, replay it under callgrind."""
    program, trace, counts = folder / name, folder / f"{name}.trace", folder / f"{name}.callgrind"
    subprocess.run(["gcc", "-O2", f"-I{artefacts.INCLUDE}", "-o", program, SOURCES / f"{name}.c"], check=True)
    record = [
        sys.executable,
        "-m",
        "cxlab",
        "run",
        "--record",
        str(trace),
        "--out",
        str(folder / f"{name}.out"),
    ]
    subprocess.run([*record, "--", str(program), argument], check=True, capture_output=True)
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}", "--collect-atstart=no"]
    command += [f"--toggle-collect={COUNTED}", sys.executable, "-m", "cxlab.run.host.model_process", "replay"]
    job = {"trace": str(trace), "machine": None, "timeline": None, "placement": None, "sample": None}
    done = subprocess.run(command, input=json.dumps(job) + "\n", check=True, capture_output=True, text=True)
    answer = msgspec.json.decode(done.stdout, type=Answer)
    executed = model.run_result(answer.summary).instructions
    found = Profile(executed.user + executed.kernel)
    with counts.open() as lines:
        for function, begins, here, instructions in costs(lines):
            found.parts[part_of(here) or part_of(begins) or ELSEWHERE] += instructions
            found.functions[function] += instructions
    if not found.host:
        sys.exit(f"callgrind has seen nothing of {COUNTED}: has the model been renamed?")
    return found


def parts_table(profiles: dict[str, Profile]) -> Table:
    """Shares, and instructions for each of the guest's."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("part")
    for name in profiles:
        table.add_column(name, justify="right")
    together: Counter[str] = sum((each.parts for each in profiles.values()), Counter())
    rest = [0.0] * len(profiles)
    for part, _ in together.most_common():
        shares = [each.parts[part] / each.host for each in profiles.values()]
        if max(shares) < LEAST:
            rest = [sum(pair) for pair in zip(rest, shares, strict=True)]
        else:
            table.add_row(part, *(f"{share:.1%}" for share in shares))
    table.add_row("the rest", *(f"{share:.1%}" for share in rest))
    table.add_section()
    each_costs = (f"{each.host / each.guest:,.0f}" for each in profiles.values())
    table.add_row("for each instruction of the guest", *each_costs)
    return table


def functions_table(found: Profile) -> Table:
    """The functions with most instructions of their own, what is inlined into them included."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("function, with what is inlined into it", overflow="fold")
    table.add_column("share", justify="right")
    for function, instructions in found.functions.most_common(FUNCTIONS):
        table.add_row(function.replace("cxlab_model::", ""), f"{instructions / found.host:.1%}")
    return table


def main() -> int:
    """Profile each, print the parts, then the functions of the first."""
    out = console()
    with tempfile.TemporaryDirectory() as folder, out.status("counting ..."):
        profiles = {name: profile(Path(folder), name, argument) for name, argument in PROGRAMS}
    out.print("instructions of the model, by part", parts_table(profiles))
    name, first = next(iter(profiles.items()))
    out.print(f"{name}, by function", functions_table(first))
    return 0


if __name__ == "__main__":
    sys.exit(main())
