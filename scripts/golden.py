"""``make golden``: simulated results are what they were, bit for bit.

    tests/golden/traces/*.trace --replay--> tests/golden/expected/*.json   the same figures, every digit
    bench points, `cxlab validate` ------->

A change that only moves code must not move a result: run this after each step. A change that moves results on
purpose blesses them (``python scripts/golden.py bless``) and says in its commit message why they moved.

A figure that is new is not compared; a figure that is gone, or differs, fails. Traces are recordings of
tests/programs by ``cxlab run --record`` (``RECORDED`` below has each command);
``python scripts/golden.py record`` makes them anew where answers of the clock have moved.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cxlab.run.guest import artefacts

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
#: What names a file or a host, and so may differ.
UNLIKE = {"trace", "versions", "host_seconds", "format"}
#: How each trace was recorded: the options of ``cxlab run``, then the program of tests/programs.
RECORDED = {
    "qsort": "--detail all --machine 8468v-asic --interleave dram,cxl -- qsort 2000",
    "chase": "--detail marker --machine 8468v-fpga --membind cxl -- chase 5000 4194304",
    "lock4": "--detail marker --cpus 4 --machine spr-a1000 --membind cxl -- lock spin 4 200",
    "stream4": "--detail marker --cpus 4 --machine spr-a1000 --weighted-interleave dram=3,cxl=1"
    " -- stream_threads 4 1572864",
    "device": "--detail marker --cxl device --interleave-ways 2 --membind cxl -- triad 262144",
    "short": "--detail marker --cxl device --interleave-ways 2 --membind cxl -- triad 16384",
    "sampled": "--detail all --sample detail=20k,warm=10k,every=200k --membind cxl -- qsort 5000",
}


@dataclass(frozen=True)
class Case:
    """One command whose JSON is compared."""

    name: str
    command: tuple[str, ...]


def replay(name: str, trace: str, *options: str) -> Case:
    """A trace through the model."""
    return Case(name, ("replay", str(GOLDEN / "traces" / f"{trace}.trace"), *options))


def bench(name: str, line: str) -> Case:
    """A point of a bench."""
    return Case(f"bench-{name}", ("bench", *line.split()))


QUICK: tuple[Case, ...] = (
    *(replay(name, name) for name in RECORDED),
    replay("chase-on-asic", "chase", "--machine", "8468v-asic"),
    replay("device-interleaved", "device", "--interleave", "dram,cxl"),
    replay("qsort-sampled", "qsort", "--sample", "detail=20k,warm=10k,every=200k"),
    bench("chase-fpga", "latency --machine 8468v-fpga --node cxl"),
    bench("chase-4k", "latency --machine 8468v-asic --node cxl --size 8MiB --pages 4KiB"),
    bench("chase-snc", "latency --machine 6430-cxl-a-snc4 --node dram --size 8MiB"),
    bench("remote-idle", "loaded-latency --machine spr-a1000 --node cxl-remote --threads 1 --delay 20000"),
    bench("remote-dram", "loaded-latency --machine 8468v-remote --node remote --threads 4 --delay 0"),
    bench("reads", "loaded-latency --machine spr-a1000 --node cxl --threads 4 --delay 100"),
    bench("writes", "loaded-latency --machine spr-a1000 --node cxl --threads 4 --mix 2:1 --delay 0"),
    bench(
        "past",
        "loaded-latency --machine 6430-cxl-a --node cxl --threads 4 --mix 1:1 --store nontemporal --delay 0",
    ),
    bench("random", "loaded-latency --machine 6430-cxl-b --node cxl --threads 4 --pattern random --delay 0"),
    bench("spread", "bandwidth --machine 9754-cz120 --weighted-interleave dram=4,cxl=1 --threads 4"),
    bench("stream", "stream --machine 6430-cxl-c --node cxl --threads 2"),
    bench("memo", "memo --machine 6430-cxl-a --node cxl"),
)
VALIDATE = Case("validate", ("validate",))


def run(case: Case, jail: str) -> Any:
    """JSON result of the command, without the keys that may differ. ``jail`` is that of replays."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        command = [sys.executable, "-m", "cxlab", *case.command, "--json", str(file)]
        if case.command[0] == "replay":
            command += ["--jail", jail]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"golden: cxlab {' '.join(case.command)}\n{done.stderr}")
        document = json.loads(file.read_bytes())
    return {key: value for key, value in document.items() if key not in UNLIKE}


def differences(expected: Any, found: Any, path: str = "") -> Iterator[str]:
    """Each figure that is gone or differs; figures that are new are fine."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            if key not in found:
                yield f"{path}.{key} is gone"
            else:
                yield from differences(value, found[key], f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif expected != found:
        yield f"{path}: was {str(expected)[:80]}, is {str(found)[:80]}"


def expected_file(case: Case) -> Path:
    """File with the expected results of a case."""
    return GOLDEN / "expected" / f"{case.name}.json"


def record(name: str) -> None:
    """Record a trace anew: where a clock's answer has moved on purpose, the old trace cannot be replayed."""
    options, program = RECORDED[name].split(" -- ")
    word, *arguments = program.split()
    trace = GOLDEN / "traces" / f"{name}.trace"
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / word
        source = ROOT / "tests" / "programs" / f"{word}.c"
        subprocess.run(
            ["gcc", "-O2", f"-I{artefacts.INCLUDE}", "-pthread", "-o", built, source, "-lm"], check=True
        )
        trace.unlink(missing_ok=True)
        command = [sys.executable, "-m", "cxlab", "run", *options.split(), "--record", str(trace)]
        command += ["--out", str(Path(folder) / "out"), "--", str(built), *arguments]
        subprocess.run(command, check=True)


def main() -> None:
    """Check, bless, or record the traces anew."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["check", "bless", "record"])
    parser.add_argument(
        "--quick", action="store_true", help="leave out `cxlab validate` (half a minute or more)"
    )
    parser.add_argument(
        "--jail",
        default="auto",
        help="of replays (default: auto); off: a build that counts its paths writes its counts",
    )
    parser.add_argument("names", nargs="*", help="cases to take (default: all)")
    asked = parser.parse_args()
    if asked.what == "record":
        for name in asked.names or RECORDED:
            record(name)
        return
    cases = [*QUICK, *([] if asked.quick else [VALIDATE])]
    unknown = set(asked.names) - {case.name for case in cases}
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}; valid: {', '.join(case.name for case in cases)}")
    wrong = 0
    for case in [case for case in cases if not asked.names or case.name in asked.names]:
        found = run(case, asked.jail)
        file = expected_file(case)
        if asked.what == "bless":
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(found, indent=1) + "\n")
            print(f"blessed {case.name}", flush=True)
            continue
        differing = list(differences(json.loads(file.read_bytes()), found))
        print(f"{'same' if not differing else 'DIFFERS'} {case.name}", flush=True)
        for line in differing[:10]:
            print(f"    {line}")
        wrong += bool(differing)
    if wrong:
        raise SystemExit(f"{wrong} of {len(cases)} results moved")


if __name__ == "__main__":
    main()
