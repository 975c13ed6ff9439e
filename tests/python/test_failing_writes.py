"""Which file a failed call was about, as `make failing-writes` reads it from strace."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

SCRIPT: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "failing_writes.py"))
FOLDER = Path("/tmp/x/results")


def test_a_failed_call_names_the_file_as_a_user_knows_it() -> None:
    def names(line: str) -> set[str]:
        named: set[str] = SCRIPT["written"]([line], FOLDER)
        return named

    unfinished = f"{FOLDER}/out/.config.json.i9q3d7eo.unfinished"
    assert names(f"7 fsync(4<{unfinished}>) = -1 EIO (Input/output error) (INJECTED)") == {"config.json"}
    renamed = f'"{FOLDER}/.run.trace.bsscaele.unfinished", "{FOLDER}/run.trace"'
    assert names(f"7 rename({renamed}) = -1 ENOSPC (INJECTED)") == {"run.trace"}
    assert names('7 mkdir("out", 0777) = -1 ENOSPC (INJECTED)') == {"out"}
    # Neither is a file of the user's.
    assert names('7 mkdir("/root/.cache/cxlab/matplotlib", 0777) = -1 ENOSPC (INJECTED)') == set()
    assert names("7 ftruncate(24</memfd:cxlab-ring>(deleted), 4096) = -1 ENOSPC (INJECTED)") == set()


def test_calls_are_numbered_by_thread_and_a_site_is_the_same_whatever_name_was_drawn() -> None:
    lines = [
        f'7 mkdir("{FOLDER}/out", 0777) = 0',
        '8 mkdir("/tmp/cxlab-3bd9x_q1/jail", 0700) = 0',
        f'7 mkdir("{FOLDER}/sweep", 0777 <unfinished ...>',
        "7 <... mkdir resumed>)              = 0",
        "8 +++ exited with 0 +++",
    ]
    numbered = SCRIPT["numbered"]("mkdir,mkdirat", lines, FOLDER)
    assert numbered == [{("mkdir", "out"), ("mkdir", "/tmp/cxlab-*/jail")}, {("mkdir", "sweep")}]
    synced = [
        f"7 fsync(4<{FOLDER}/out/.config.json.{drawn}.unfinished>) = 0" for drawn in ("i9q3d7eo", "b_2kd8e1")
    ]
    assert {SCRIPT["site"]("fsync", line, FOLDER) for line in synced} == {("fsync", "config.json")}
    renamed = f'"{FOLDER}/.run.trace.bsscaele.unfinished", "{FOLDER}/run.trace"'
    assert SCRIPT["site"]("rename,renameat", f"7 rename({renamed}) = 0", FOLDER) == ("rename", "run.trace")


def test_dates_do_not_tell_two_calibrations_apart(tmp_path: Path) -> None:
    mode = SCRIPT["MODES"]["calibrate"]

    def hashed(text: str) -> dict[str, str]:
        (tmp_path / "fitted.toml").write_text(text)
        found: dict[str, str] = SCRIPT["hashes"](tmp_path, mode)
        return found

    before = hashed("latency = 250 # calibrated on 2026-11-24")
    assert hashed("latency = 250 # calibrated on 2026-11-25") == before
    assert hashed("latency = 251 # calibrated on 2026-11-24") != before
