"""Checks the dependency rules of the house, between the crates and inside them.

Between crates: kernel <- model <- py, access <- model and qemu-plugin; memo and caption stand on kernel at
most. Inside a crate each module stands on a floor and imports only from the floors below it, so there are no
circles among modules. Files of one module that are not parent and child form no circles either. The plugin
is GPL-2.0-or-later, so nothing that it is built with may be under the Apache licence alone. The Python
packages have floors too (python_imports.py), and results have types (result_subscripts.py).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import python_imports
import result_subscripts
from rust_imports import imports, modules

ROOT = Path(__file__).resolve().parent.parent
#: What a crate may import of this workspace; a new crate gets a row.
ALLOWED: dict[str, set[str]] = {
    "cxlab-kernel": set(),
    "cxlab-access": set(),
    "cxlab-model": {"cxlab-kernel", "cxlab-access"},
    "cxlab-qemu-plugin": {"cxlab-access"},
    "cxlab-marker": set(),
    "cxlab-guest-init": {"cxlab-marker"},
    "cxlab-memo": {"cxlab-kernel"},
    "cxlab-caption": {"cxlab-kernel"},
    "cxlab-caption-shim": {"cxlab-caption"},
    "cxlab-py": {"cxlab-kernel", "cxlab-access", "cxlab-model", "cxlab-memo", "cxlab-caption"},
}
#: The floors of a crate's modules, the lowest first. A module imports only from the floors below its own. A
#: row may name a module inside another one (``stream::sync``); what has no row of its own belongs to the
#: module around it. The crate's root is the roof.
FLOORS: dict[str, tuple[str, ...]] = {
    "crates/kernel": (
        "host_cache order slab random turns",
        "quantity",
        "credits event server slots statistic",
    ),
    "crates/access": (
        "marker mixed words",
        "page phase",
        "record sampling",
        "ring trace",
    ),
    "crates/caption": (
        "error",
        "atomic interrupt root share units",
        "lock sample weights",
        "journal topology window",
        "custody estimator mempolicy tuner",
        "actuator controller",
        "live log place",
        "sensor",
        "run",
        "cli",
    ),
    "crates/caption-shim": (
        "control policy sides",
        "follower",
        "hooks",
    ),
    "crates/memo": (
        "distribution error list progress roi stream_kernel summary",
        "cpu interrupt isa mempolicy mix page tsc",
        "host instruction",
        "buffer",
        "chase session traffic",
        "report team",
        "import measure",
        "cli",
    ),
    "crates/qemu-plugin": (
        "answer",
        "api arguments decoded end exports imports mode pages progress descriptor releases",
        "series used_ring",
        "qemu",
        "cpuid device host_time poison registers turns",
        "disk host_files",
        "under_way",
        "clock port",
        "stream::axis",
        "stream::block stream::bound stream::contended stream::link stream::sync stream::warming",
        "stream::feed",
        "stream",
        "stop",
        "boot callbacks counters idle invalidation named_line window",
        "accelerator region",
        "translate",
    ),
    "crates/model": (
        "addr error fact",
        "cache translation mem document",
        "request cxl media",
        "check",
        "drive feed fabric",
        "core home",
        "config",
        "machine",
        "apps summary",
        "bench os session",
        "study",
    ),
}
GPL_CRATE = "cxlab-qemu-plugin"


def metadata() -> dict[str, Any]:
    """The workspace with everything that it is built from."""
    command = [
        "cargo",
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
    ]
    loaded: dict[str, Any] = json.loads(
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    )
    return loaded


def crate_faults(workspace: dict[str, Any]) -> list[str]:
    """Imports between crates that the rules do not allow; tests may use more."""
    members = {p["name"]: p for p in workspace["packages"] if p["id"] in set(workspace["workspace_members"])}
    faults = [f"{name} has no row in scripts/check_imports.py" for name in members if name not in ALLOWED]
    for name, package in members.items():
        used = {d["name"] for d in package["dependencies"] if d["kind"] != "dev"} & set(members)
        faults += [f"{name} imports {other}" for other in sorted(used - ALLOWED.get(name, set()))]
    return faults


def sources_of(sources: Path) -> dict[Path, str]:
    """Each file of a crate and its text, without comments and without the tests at its end."""
    texts = {}
    for file in sorted(sources.rglob("*.rs")):
        text = re.split(r"#\[cfg\(test\)\]\s*mod", file.read_text())[0]
        texts[file.relative_to(sources)] = re.sub(r"//.*", "", text)
    return texts


def named(text: str, start: str) -> set[str]:
    """The first names behind a path such as ``crate::``, groups in braces included."""
    found = set()
    for match in re.finditer(rf"\b{start}::(\w+|\{{)", text):
        if match.group(1) != "{":
            found.add(match.group(1))
            continue
        depth, group = 1, ""
        for letter in text[match.end() :]:
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if depth == 0:
                break
            group += letter if depth == 1 else ""
        found |= {name.strip().split("::")[0].split(" ")[0] for name in group.split(",") if name.strip()}
    return found


def floor_faults(crate: Path, floors: tuple[str, ...]) -> list[str]:
    """Imports inside a crate that go up or stay on a floor, and modules that no floor names."""
    sources = crate / "src"
    place = {name: number for number, floor in enumerate(floors) for name in floor.split()}
    known = {"::".join(module) for module in modules(sources)}
    faults = [
        f"{crate.name} has no module {name}: remove it from FLOORS" for name in place if name not in known
    ]
    faults += [
        f"{crate.name}: the module {name} has no floor: give it one in FLOORS"
        for name in sorted(known)
        if name and "::" not in name and name not in place
    ]

    def row(module: str) -> str:
        while module and module not in place:
            module = module.rpartition("::")[0]
        return module

    roof = len(floors)
    for found in imports(sources):
        by, of = row(found.by), row(found.of)
        if by != of and by and place[by] <= place.get(of, roof):
            where = f"floor {place[of]}" if of else "the roof"
            faults.append(
                f"{found.file.relative_to(crate.parent)} imports {of or 'the root'} ({where}), and {by} is "
                f"on floor {place[by]}: a module imports only from floors below its own. "
                "Move what is shared down."
            )
    return faults


def handed_on(text: str) -> dict[str, str]:
    """The names that a parent hands on from its own modules, and which module each is of."""
    names = {}
    for module, group, single in re.findall(r"\buse (?:self::)?(\w+)::(?:\{([^}]*)\}|(\w+))", text):
        for name in (group or single).split(","):
            names[name.strip().split(" as ")[-1]] = module
    return names


def imports_of_files(sources: Path) -> dict[str, set[str]]:
    """Which module of a room imports which sibling, as paths such as ``cxl/wire``."""
    texts = {str(file.with_suffix("")): text for file, text in sources_of(sources).items()}
    imports: dict[str, set[str]] = {}
    for module, text in texts.items():
        parent = module.rpartition("/")[0]
        if parent in texts:
            names = handed_on(texts[parent])
            siblings = {f"{parent}/{names.get(name, name)}" for name in named(text, "super")}
            imports[module] = (siblings & set(texts)) - {module}
    return imports


def circle_faults(crate: Path) -> list[str]:
    """Files beside each other that import each other, directly or by way of others."""
    siblings = imports_of_files(crate / "src")

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        waiting = list(siblings.get(start, ()))
        while waiting:
            module = waiting.pop()
            if module not in found:
                found.add(module)
                waiting += siblings.get(module, ())
        return found

    circular = sorted(module for module in siblings if module in reached(module))
    return [
        f"{crate.name}/src/{module}.rs is in a circle of imports with its siblings" for module in circular
    ]


def licence_faults(workspace: dict[str, Any]) -> list[str]:
    """Crates in the plugin that can be had under the Apache licence only."""
    packages = {p["id"]: p for p in workspace["packages"]}
    nodes = {n["id"]: n for n in workspace["resolve"]["nodes"]}
    reached: set[str] = set()
    waiting = [i for i, p in packages.items() if p["name"] == GPL_CRATE]
    while waiting:
        package = waiting.pop()
        if package not in reached:
            reached.add(package)
            links = nodes[package]["deps"]
            waiting += [link["pkg"] for link in links if any(k["kind"] is None for k in link["dep_kinds"])]
    return [
        f"{packages[i]['name']}: {packages[i]['license']}"
        for i in reached
        if apache_only(packages[i]["license"])
    ]


def apache_only(licence: str | None) -> bool:
    """Whether every alternative of an SPDX expression has Apache-2.0 without LLVM's exception in it."""
    alternatives = re.split(r"\bOR\b|/", (licence or "").replace("Apache-2.0 WITH LLVM-exception", "LLVM"))
    return all("Apache-2.0" in alternative for alternative in alternatives)


def main() -> int:
    """Print the faults."""
    workspace = metadata()
    faults = crate_faults(workspace)
    for crate, floors in FLOORS.items():
        faults += floor_faults(ROOT / crate, floors)
        faults += circle_faults(ROOT / crate)
    faults += licence_faults(workspace)
    faults += python_imports.faults(ROOT)
    faults += result_subscripts.faults(ROOT)
    for fault in faults:
        print(f"check_imports: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
