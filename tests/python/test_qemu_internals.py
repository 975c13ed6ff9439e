"""All of QEMU's internals are asked for first; another version is told which ones are known.

The plugin is loaded into a program of ours that exports the symbols of one series of QEMU, all but one.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cxlab.run.errors import QemuVersion
from cxlab.run.guest import artefacts
from cxlab.run.host import installed_qemu

SOURCE = Path(__file__).parents[2] / "crates/qemu-plugin/src"
KNOWN = "CXLab knows qemu-system-x86_64 10.0 and 11.1"
#: A version of each series, and the version of the plugin interface that it takes (qemu-plugin.h of both).
INTERFACES = {"10.0.2": 4, "11.1.3": 7}


def table(file: str, name: str) -> list[str]:
    """The functions of QEMU that a table of the plugin's looks up."""
    text = (SOURCE / file).read_text()
    [body] = re.findall(rf"^    {name}:\n(.*?)^}}", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^    (\w+): fn\(", body, re.MULTILINE)


#: What each version has: functions of all series, and those of its own.
INTERNALS = {
    "10.0.2": [*table("qemu.rs", "Functions"), *table("series.rs", "Of10_0")],
    "11.1.3": ["address_space_memory", *table("qemu.rs", "Functions"), *table("series.rs", "Of11_1")],
}
#: The functions that the plugin is linked against.
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
    printf("%%d\\n", *(int *)dlsym(plugin, "qemu_plugin_version"));
    fflush(stdout);
    int (*install)(uint64_t, const void *, int, char **) = dlsym(plugin, "qemu_plugin_install");
    return install(0, 0, argc - 2, argv + 2);
}
"""


def load(folder: Path, version: str, functions: list[str]) -> subprocess.CompletedProcess[str]:
    """The plugin in a QEMU of this version with these functions: it prints the interface that it declares."""
    code = "\n".join(f"void *{name}(void) {{ return 0; }}" for name in [*functions, *INTERFACE])
    source, host = folder / "host.c", folder / "host"
    source.write_text(HOST % {"version": version.replace(".", ", "), "functions": code})
    subprocess.run(["gcc", "-rdynamic", "-o", host, source], check=True)
    command = [host, artefacts.built(artefacts.QEMU_PLUGIN), *ARGUMENTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version, names in INTERNALS.items() for name in names]
)
def test_a_qemu_without_one_of_its_functions_is_refused_by_name(
    version: str, name: str, tmp_path: Path
) -> None:
    said = load(tmp_path, version, [other for other in INTERNALS[version] if other != name]).stderr
    assert f"QEMU has no function `{name}`" in said
    assert f"this is QEMU {version}" in said and KNOWN in said


@pytest.mark.parametrize("version", INTERFACES)
def test_each_series_is_told_the_plugin_interface_that_it_takes(version: str, tmp_path: Path) -> None:
    # Without one function the plugin does not go on to start threads in our program.
    done = load(tmp_path, version, INTERNALS[version][1:])
    assert int(done.stdout) == INTERFACES[version]


@pytest.mark.parametrize("version", ["8.2.2", "10.1.0", "10.2.2", "11.0.0", "11.10.0", "12.0.0"])
def test_another_version_with_all_of_them_is_refused(version: str, tmp_path: Path) -> None:
    said = load(tmp_path, version, sorted({name for names in INTERNALS.values() for name in names})).stderr
    assert f"this is QEMU {version}" in said and KNOWN in said


@pytest.fixture
def only_qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make PATH a folder with nothing in it but a QEMU, a script that prints the version given."""

    def become(version: str) -> None:
        other = tmp_path / installed_qemu.PROGRAM
        other.write_text(f"#!/bin/sh\necho QEMU emulator version {version}\n")
        other.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    return become


def test_the_command_refuses_another_qemu_before_it_starts(only_qemu: Callable[[str], None]) -> None:
    only_qemu("7.2.19")
    with pytest.raises(QemuVersion, match=r"QEMU 7\.2\.19 was found, 10\.0\.x or 11\.1\.x is wanted"):
        installed_qemu.check_version()


@pytest.mark.parametrize("version", INTERFACES)
def test_the_command_takes_each_series_that_the_plugin_knows(
    version: str, only_qemu: Callable[[str], None]
) -> None:
    only_qemu(version)
    assert installed_qemu.check_version() == version
