"""The dependency rules of the house, over ``cargo metadata`` and the model's folders.

kernel <- model <- py, access <- model and qemu-plugin; memo and caption stand on kernel at most. Inside the
model, ``dram``, ``cxl``, ``ssd`` and ``os`` do not import each other. The plugin is GPL-2.0-or-later, so
nothing that it is built with may be under the Apache licence alone.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: What a crate may import of this workspace; a new crate gets a row.
ALLOWED: dict[str, set[str]] = {
    "cxlab-kernel": set(),
    "cxlab-access": set(),
    "cxlab-model": {"cxlab-kernel", "cxlab-access"},
    "cxlab-qemu-plugin": {"cxlab-access"},
    "cxlab-guest-init": set(),
    "cxlab-memo": {"cxlab-kernel"},
    "cxlab-caption": {"cxlab-kernel"},
    "cxlab-caption-shim": {"cxlab-caption"},
    "cxlab-py": {"cxlab-kernel", "cxlab-access", "cxlab-model", "cxlab-memo", "cxlab-caption"},
}
#: Parts of the model that machine.rs composes.
APART = ("dram", "cxl", "ssd", "os")
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


def model_faults(sources: Path) -> list[str]:
    """Imports between the parts of the model that stand apart."""
    faults = []
    for part in APART:
        for file in (sources / part).rglob("*.rs"):
            for other in re.findall(rf"\bcrate::({'|'.join(APART)})\b", file.read_text()):
                if other != part:
                    faults.append(f"{file.relative_to(ROOT)} imports crate::{other}")
    return faults


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
    faults = [*crate_faults(workspace), *model_faults(ROOT / "crates/model/src"), *licence_faults(workspace)]
    for fault in faults:
        print(f"check_imports: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
