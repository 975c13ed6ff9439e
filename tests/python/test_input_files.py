"""A run names what it read: libraries as the loader itself lists them, and files among its arguments."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cxlab.run.results import inputs, libraries


def listed(program: str) -> set[str]:
    """Libraries by ldd(1), which asks the loader."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    words = (word for line in said.splitlines() for word in line.split() if word.startswith("/"))
    return {os.path.realpath(word) for word in words}


@pytest.mark.parametrize("program", ["/bin/sh", "/usr/bin/gcc", os.path.realpath(sys.executable)])
def test_libraries_are_those_of_the_loader(program: str) -> None:
    assert set(libraries.loaded(program, {})) == listed(program)


def test_a_library_is_looked_for_where_the_program_says(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    (tmp_path / "a.c").write_text("int a(void) { return 1; }")
    (tmp_path / "main.c").write_text("int a(void); int main(void) { return a(); }")
    library, program = folder / "liba.so", tmp_path / "main"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "a.c"], check=True)
    link = ["gcc", "-o", program, tmp_path / "main.c", f"-L{folder}", "-la"]
    subprocess.run([*link, "-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib"], check=True)
    assert str(library) in libraries.loaded(str(program), {})
    subprocess.run(link, check=True)
    assert str(library) not in libraries.loaded(str(program), {})
    assert str(library) in libraries.loaded(str(program), {"LD_LIBRARY_PATH": str(folder)})


def opened(program: str, *arguments: str) -> set[str]:
    """Files that exist and that a program and its loader open, by strace(1)."""
    traced = ["strace", "-e", "trace=openat", program, *arguments]
    said = subprocess.run(traced, capture_output=True, text=True, check=True).stderr
    return {line.split('"')[1] for line in said.splitlines() if "openat" in line and "ENOENT" not in line}


def test_the_cache_of_the_loader_is_read_by_a_program_of_libraries_only(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }")
    program = str(tmp_path / "main")
    for flags in ((), ("-static",)):
        subprocess.run(["gcc", *flags, "-o", program, tmp_path / "main.c"], check=True)
        loader_cache = str(libraries.LOADER_CACHE)
        assert (loader_cache in libraries.read(program, {})) == (loader_cache in opened(program))


def test_a_script_needs_its_interpreter_and_a_damaged_program_nothing(tmp_path: Path) -> None:
    script, damaged = tmp_path / "script", tmp_path / "damaged"
    script.write_text("#!/bin/sh -e\ntrue\n")
    assert libraries.loaded(str(script), {})[0] == os.path.realpath("/bin/sh")
    whole = Path("/bin/sh").read_bytes()
    for length in (0, 7, 40, 64, 200, 5000):
        damaged.write_bytes(whole[:length])
        libraries.loaded(str(damaged), {})


def test_an_argument_that_is_a_file_is_named_by_its_content(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"123")
    [found] = inputs.argument_files(
        ["-n", "data", str(data), "missing", "", "/proc/self/status"], str(tmp_path)
    )
    assert found == {"path": str(data), "bytes": 3, "sha256": hashlib.sha256(b"123").hexdigest()}
    [library, *_] = inputs.library_files("sh", "/", {"PATH": "/bin"})
    assert library["sha256"] == hashlib.sha256(Path(library["path"]).read_bytes()).hexdigest()
