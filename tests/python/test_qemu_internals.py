"""All of QEMU's internals are asked for before anything is used; of another version, both are named.

The plugin is loaded into a program of ours that exports QEMU's symbols, all but one.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from cxlab.run.errors import QemuVersion
from cxlab.run.guest import artefacts
from cxlab.run.host import qemu

SOURCE = Path(__file__).parents[2] / "crates/qemu-plugin/src"
#: The functions that the plugin looks up, and those that it is linked against.
INTERNALS = re.findall(r"^    (\w+): fn\(", (SOURCE / "qemu.rs").read_text(), re.MULTILINE)
INTERFACE = re.findall(r"^    pub fn (\w+)\(", (SOURCE / "api.rs").read_text(), re.MULTILINE)
ARGUMENTS = ("ring=3", "model=4", "detail=all", "tsc=2400000000")

HOST = """#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
static const int64_t version[] = {%(version)s};
static const struct { const int64_t *qemu; const char *package; } info = {version, ""};
const void *qmp_query_version(void **error) { return (void)error, &info; }
%(functions)s
int main(int argc, char **argv) {
    void *plugin = dlopen(argv[1], RTLD_NOW);
    if (!plugin) return fprintf(stderr, "%%s\\n", dlerror()), 2;
    int (*install)(uint64_t, const void *, int, char **) = dlsym(plugin, "qemu_plugin_install");
    return install(0, 0, argc - 2, argv + 2);
}
"""


def refusal(folder: Path, version: str, without: str | None) -> str:
    """What the plugin says in a QEMU of this version that lacks a function."""
    names = [name for name in [*INTERNALS, *INTERFACE] if name != without]
    functions = "\n".join(f"void *{name}(void) {{ return 0; }}" for name in names)
    source, host = folder / "host.c", folder / "host"
    source.write_text(HOST % {"version": version.replace(".", ", "), "functions": functions})
    subprocess.run(["gcc", "-rdynamic", "-o", host, source], check=True)
    command = [host, artefacts.built(artefacts.QEMU_PLUGIN), *ARGUMENTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("name", INTERNALS)
def test_a_qemu_without_one_of_its_functions_is_refused_by_name(name: str, tmp_path: Path) -> None:
    said = refusal(tmp_path, "10.0.2", name)
    assert f"QEMU has no function `{name}`" in said
    assert "this is QEMU 10.0.2" in said and "written for qemu-system-x86_64 10.0" in said


@pytest.mark.parametrize("version", ["8.2.2", "10.1.0", "11.1.3"])
def test_another_version_with_all_of_them_is_refused(version: str, tmp_path: Path) -> None:
    said = refusal(tmp_path, version, None)
    assert f"this is QEMU {version}" in said and "written for qemu-system-x86_64 10.0" in said


def test_the_command_refuses_another_qemu_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / qemu.PROGRAM
    other.write_text("#!/bin/sh\necho QEMU emulator version 7.2.19\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(QemuVersion, match=r"QEMU 7\.2\.19 was found, 10\.0\.x is wanted"):
        qemu.check_version()
