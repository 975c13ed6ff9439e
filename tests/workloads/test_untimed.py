"""A workload of one's own whose script marks nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DESCRIPTION = """
about = "a count of lines"
program = "stand-in"
what = "seq of coreutils"
means = "Seconds that the script says."
script = "run.sh"
cpus = 1

[parameters]

[measures]
seconds = { about = "time of all", unit = "s", better = "less" }

[sizes.tiny]
about = "for tests"
values = { lines = 10 }
"""


def test_a_run_of_which_nothing_was_timed_is_an_error_with_the_scripts_words(tmp_path: Path) -> None:
    """Its measures would look like results."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/workload.toml").write_text(DESCRIPTION)
    (tmp_path / "own/run.sh").write_text(
        "cxlab-marker begin\nseq $lines > /dev/null\necho measure seconds 5\n"
    )
    command = [sys.executable, "-m", "cxlab", "workload", "run", str(tmp_path / "own"), "--size", "tiny"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "cxlab-marker: not found" in done.stderr
    assert "run.sh executed no marker that begins a region, so nothing was timed" in done.stderr
