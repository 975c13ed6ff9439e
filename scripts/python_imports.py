"""Floors of ``python/cxlab``: a package imports only from the floors below it, so no circle can be.

Imports at the top of a file count, and so do those inside a function. ``if TYPE_CHECKING`` does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

#: The packages and files of python/cxlab, floor by floor from the bottom up; a new one gets a place here.
#: What stands on one floor does not know each other.
FLOORS: tuple[tuple[str, ...], ...] = (
    (
        "_model",
        "border",
        "description",
        "error",
        "file_format",
        "asked_machine",
        "elf",
        "lifeline",
        "marker",
        "student",
        "version",
        "whole_file",
    ),
    ("output", "sampled"),
    ("model", "figure"),
    ("run.errors",),
    ("run.machine", "run.simulated_time", "run.size", "run.program_file"),
    ("run.topology",),
    ("run.options",),
    ("run.guest", "run.interruption"),
    ("run.request",),
    ("run.results",),
    ("run.host",),
    ("bench", "place", "caption"),
    ("calibrate", "plan", "compare", "top", "workload"),
    ("sweep",),
    ("report",),
    ("cli",),
    ("api",),
    ("__main__",),
)


def room_of(module: str) -> str:
    """The package or file of cxlab that a module is of; `run` is a house with rooms of its own."""
    parts = module.split(".")
    return ".".join(parts[1:3]) if parts[1] == "run" and len(parts) > 2 else parts[1]


def imports_of(file: Path) -> Iterator[str]:
    """Modules of cxlab that a file imports; `from cxlab import name` is cxlab.name."""
    tree = ast.parse(file.read_text())
    skipped = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("cxlab."))
        elif isinstance(node, ast.ImportFrom) and node.module == "cxlab":
            yield from (f"cxlab.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cxlab."):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from names


def modules(sources: Path) -> dict[str, Path]:
    """Every module of the package, by its name."""
    found = {}
    for file in sorted(sources.rglob("*.py")):
        parts = file.relative_to(sources.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def graph(sources: Path) -> dict[str, set[str]]:
    """Which module imports which."""
    known = modules(sources)
    imports: dict[str, set[str]] = {}
    for module, file in known.items():
        named = set()
        for name in imports_of(file):
            # A name that a module defines is that module's.
            named.add(name if name in known or name.count(".") == 1 else name.rpartition(".")[0])
        imports[module] = named - {module, "cxlab"}
    return imports


def floor_faults(sources: Path) -> list[str]:
    """Packages without a floor, and imports that do not lead to a floor below."""
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    imports = graph(sources)
    rooms = {room_of(module) for module in imports if module not in ("cxlab", "cxlab.run")}
    faults = [f"python/cxlab/{room} has no floor in scripts/python_imports.py" for room in rooms - set(floor)]
    faults += [
        f"the floors name {room}, which is not in python/cxlab" for room in set(floor) - rooms - {"_model"}
    ]
    for module, others in sorted(imports.items()):
        if module in ("cxlab", "cxlab.run"):
            continue
        room = room_of(module)
        for other in sorted(room_of(name) for name in others):
            if other != room and floor.get(other, 0) >= floor.get(room, len(FLOORS)):
                faults.append(
                    f"python: {module} imports cxlab.{other}, which is not on a floor below {room}; "
                    f"move what both need to a floor below, or hand it in from above"
                )
    return sorted(set(faults))


def circle_faults(sources: Path) -> list[str]:
    """Modules that import each other, directly or by way of others."""
    imports = graph(sources)

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        waiting = list(imports.get(start, ()))
        while waiting:
            module = waiting.pop()
            if module not in found:
                found.add(module)
                waiting += imports.get(module, ())
        return found

    return [f"python: {m} is in a circle of imports" for m in sorted(imports) if m in reached(m)]


def faults(root: Path) -> list[str]:
    """Everything that is wrong with the imports of python/cxlab."""
    sources = root / "python" / "cxlab"
    return [*floor_faults(sources), *circle_faults(sources)]
