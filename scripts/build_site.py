"""``make docs``: the site, from the repository's Markdown and from the code.

    README, ARCHITECTURE, docs/ ... --copied--> target/site/source --zensical--> target/site/html
    commands, cxlab.api, machines, errors --written--^

The copy keeps the repository's layout, so a link works on the site as it does in a checkout. Zensical builds
strictly: a broken link or anchor ends the build.
"""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from cxlab import api, error, model
from cxlab.run import errors
from man_pages import click_commands

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "target" / "site" / "source"
#: What is copied besides docs/.
PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "EXTENDING.md",
    "DEVIATIONS.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "data/README.md",
    "validation/README.md",
)
#: Keys of a machine file [levels]: deeper ones are in data/schema/machine.json.
DEPTH = 8


def table(headings: Sequence[str], rows: Sequence[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    lines = [tuple(headings), tuple("---" for _ in headings), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in lines)


def commands() -> str:
    """Every command with its options."""
    parts = ["# Commands", "Every command and option has these words in its `--help`."]
    for context in click_commands():
        command = context.command
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        parts += [f"## {context.command_path}", *inspect.cleandoc(command.help or "").split("\n\n")]
        parts.append(f"```\n{usage}\n```")
        records = [(one, one.get_help_record(context)) for one in command.get_params(context)]
        options = [(f"`{found[0]}`", " ".join(found[1].split())) for one, found in records if found]
        if options and not isinstance(command, click.Group):
            parts.append(table(("option", "what it does"), options))
        if command.epilog:
            parts.append(command.epilog)
    return "\n\n".join(part.replace("<", "&lt;") if "```" not in part else part for part in parts) + "\n"


def python() -> str:
    """The public functions and classes of cxlab.api."""
    parts = ["# Python functions", f"```text\n{inspect.cleandoc(api.__doc__ or '')}\n```"]
    for name in api.__all__:
        found = getattr(api, name)
        parts.append(f"## {name}")
        if inspect.isfunction(found):
            parts.append(f"```python\n{name}{inspect.signature(found)}\n```")
        parts.append(f"```text\n{inspect.cleandoc(found.__doc__ or '')}\n```")
        if inspect.isclass(found):
            methods = inspect.getmembers(found, inspect.isfunction)
            shown = [(name, one) for name, one in methods if not name.startswith("_")]
            parts += [f"- `{name}()`: {(one.__doc__ or '').splitlines()[0]}" for name, one in shown]
    return "\n\n".join(parts) + "\n"


def machines() -> str:
    """The machines with their nodes."""
    parts = ["# Machines", "`cxlab machines` prints these figures with their sources."]
    for name in model.machine_names():
        found = model.describe(name)
        parts += [f"## {name}", f"{found.description}. Host: {found.host.name}, {found.host.cores} cores."]
        rows = [
            (node.name, node.kind, f"{node.latency_ns:.0f} ns", f"{node.bandwidth_gb_s:.1f} GB/s")
            for node in found.nodes
        ]
        parts.append(table(("node", "kind", "latency", "bandwidth"), rows))
    return "\n\n".join(parts) + "\n"


def machine_keys() -> str:
    """Every key of a machine file, from its schema."""
    schema = json.loads((ROOT / "data" / "schema" / "machine.json").read_text())
    rows = [(f"`{key}`", words) for key, words in _keys(schema, schema, "", DEPTH)]
    about = "[Facts of machines](../../data/README.md) explains how a file is written."
    return "\n\n".join(["# Keys of a machine file", about, table(("key", "what it is"), rows)]) + "\n"


def _keys(whole: dict[str, Any], schema: dict[str, Any], path: str, depth: int) -> Iterator[tuple[str, str]]:
    """The keys below a part of the schema, with their descriptions."""
    while "$ref" in schema:
        part: Any = whole
        for name in schema["$ref"].removeprefix("#/").split("/"):
            part = part[name]
        schema = part
    for choice in schema.get("anyOf", ()):
        # A quantity is text, or a table of value and source: that is one key.
        if set(choice.get("properties", ())) != {"value", "source"}:
            yield from _keys(whole, choice, path, depth)
    if depth == 0:
        return
    for name, below in schema.get("properties", {}).items():
        key = f"{path}{name}"
        if description := below.get("description"):
            yield key, " ".join(description.split())
        yield from _keys(whole, below, f"{key}.", depth - 1)
    if isinstance(below := schema.get("additionalProperties"), dict):
        yield from _keys(whole, below, f"{path}NAME.", depth - 1)


def error_codes() -> str:
    """Stable codes of wrong input and of the simulator."""
    inputs = [(f"`{code.value}`", code.name.lower().replace("_", " ")) for code in error.Code]
    classes = [one for one in vars(errors).values() if inspect.isclass(one)]
    found = {one.code: one for one in (*classes, error.NotBuilt) if issubclass(one, error.MachineError)}
    simulator = [
        (f"`{code}`", " ".join((one.__doc__ or "").split()))
        for code, one in sorted(found.items())
        if code != error.MachineError.code
    ]
    return "\n\n".join(
        [
            "# Errors",
            "A code never changes its meaning, so scripts can match it. A command ends with status 2 if its "
            "input is wrong, and with 125 if the simulator fails.",
            "## Wrong input",
            table(("code", "what is wrong"), inputs),
            "## The simulator",
            table(("code", "what happened"), simulator),
        ]
    )


def main() -> int:
    """Copy the pages, write the reference, and build the site."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE / "docs")
    for page in PAGES:
        (SOURCE / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / page, SOURCE / page)
    written = {
        "commands": commands,
        "python": python,
        "machines": machines,
        "machine-keys": machine_keys,
        "errors": error_codes,
    }
    for name, write in written.items():
        (SOURCE / "docs" / "reference" / f"{name}.md").write_text(write())
    zensical = [str(Path(sys.executable).parent / "zensical"), "build", "--strict", "--clean"]
    done = subprocess.run(
        [*zensical, "-f", str(ROOT / "zensical.toml")], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.stderr.write(done.stdout + done.stderr.partition("Traceback")[0])
        return 1
    print(f"wrote {ROOT / 'target' / 'site' / 'html' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
