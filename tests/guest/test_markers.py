"""Markers as users get them: a header, a program for scripts, a Python module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cxlab import marker as module
from guests import Cxlab

#: Turns of the loop between the markers of the C program.
COUNT = 1_000
C = f"""#include "cxlab/marker.h"
int main(void) {{
    CXLAB_REGION_BEGIN;
    __asm__ volatile("mov ${COUNT}, %%ecx\\n 1: dec %%ecx\\n jnz 1b" ::: "ecx");
    CXLAB_REGION_END;
    return 0;
}}
"""


def instructions(tmp_path: Path, *program: str) -> int:
    """User instructions of the region of detail."""
    ran = Cxlab(tmp_path, detail="marker").run(*program)
    assert ran.status == 0, ran.stderr
    counted: int = ran.summary["instructions"]["user"]
    return counted


def said(*options: str) -> str:
    """Output of `cxlab marker`."""
    command = [sys.executable, "-m", "cxlab", "marker", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_header_counts_what_is_between_its_markers(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(C)
    include = said("--include")
    program = tmp_path / "program"
    subprocess.run(["gcc", f"-I{include}", "-o", program, tmp_path / "program.c"], check=True)
    assert subprocess.run([program], check=False).returncode == 0
    # Two instructions a turn. Detail begins with the next block, which is the second turn.
    assert 2 * (COUNT - 1) <= instructions(tmp_path, str(program)) <= 2 * COUNT + 3


def test_a_script_marks_its_part(tmp_path: Path) -> None:
    marker = said("--program")
    script = tmp_path / "script"

    def counted(part: str) -> int:
        script.write_text(f"#!/bin/sh\n{marker} begin\n{part}\n{marker} end\n")
        script.chmod(0o755)
        return instructions(tmp_path, str(script))

    # A shell's loop of a thousand turns is in the region, and nothing before it.
    loop = "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done"
    assert counted(loop) > counted(":") + 1000 * 100


def test_python_marks_a_block(tmp_path: Path) -> None:
    def counted(block: str) -> int:
        program = f"from cxlab import marker\nwith marker.region():\n    {block}\n"
        return instructions(tmp_path, sys.executable, "-c", program)

    nothing = counted("pass")
    # Entering and leaving takes some thousands of instructions; to import Python takes ten million.
    assert nothing < 20_000
    # A turn takes 5 instructions at least, and some hundreds in a Python that was built without optimisation.
    assert 1_000 * 5 < counted("sum(range(1_000))") - nothing < 1_000 * 500


def test_outside_of_cxlab_a_marker_does_nothing() -> None:
    marker = said("--program")
    assert subprocess.run([marker, "begin"], check=False).returncode == 0
    wrong = subprocess.run([marker, "start"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "valid: begin, end" in wrong.stderr
    with module.region():
        pass
