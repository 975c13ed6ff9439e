"""``make demo``: one program under three placements, and one table of what the model says about it.

The program is this host's Python, unmodified, scanning a table of 128 MiB and looking rows up at random.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from cxlab import model
from cxlab.border import RunResult
from cxlab.cli import figures
from cxlab.run.options.environment import PASSED, SEARCH_PATH
from rich.console import Console

PLACEMENTS = {
    "all DRAM": ["--membind", "dram"],
    "all CXL": ["--membind", "cxl"],
    "interleaved 1:1": ["--interleave", "dram,cxl"],
}
FOLDER = Path("cxlab-runs/demo")
#: -I -S: without the user's settings and without looking for packages.
PROGRAM = [str(Path(sys.executable).resolve()), "-I", "-S", "scripts/demo_workload.py"]
#: A program's environment is part of its stack. With one PATH the table is the same for every caller.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in PASSED} | {
    "PATH": SEARCH_PATH
}


def run(name: str, options: list[str]) -> tuple[RunResult, Path]:
    """One run of the program: its result, and where its files are."""
    out = FOLDER / name.replace(" ", "-").replace(":", "-")
    command = [
        sys.executable,
        "-m",
        "cxlab",
        "run",
        *options,
        "--out",
        str(out),
        "--overwrite",
        "--",
        *PROGRAM,
    ]
    done = subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=ENVIRONMENT
    )
    if done.returncode != 0:
        sys.exit(f"demo: {name}: exit status {done.returncode}\n{done.stderr}")
    return model.run_result(json.loads((out / "summary.json").read_bytes())), out


def main() -> int:
    """Run three times, print."""
    console = Console(highlight=False)
    runs = {}
    try:
        for number, (name, options) in enumerate(PLACEMENTS.items(), start=1):
            console.print(f"demo: {number} of {len(PLACEMENTS)}: cxlab run {' '.join(options)} -- python ...")
            with console.status("booting Linux, then simulating in detail: about half a minute"):
                runs[name] = run(name, options)
    except KeyboardInterrupt:
        return 130
    console.print(figures.compared({name: result for name, (result, _) in runs.items()}))
    for name, (_, out) in runs.items():
        console.print(f"files of {name}: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
