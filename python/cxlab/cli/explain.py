"""``cxlab explain``: what a word of CXLab's results means, from where it is declared.

::

    stages, causes, statistics, errors of the model     crates, through cxlab.model
    parts and kinds of a slowdown                       cxlab.compare.parts
    errors of the command line                          cxlab.error and all that it is a base of
    options                                             the help of every command
    words that stand in no table                        cxlab.cli.glossary
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import click

from cxlab import model
from cxlab.border import Part
from cxlab.cli.glossary import WORDS
from cxlab.compare.parts import NODE_ROWS, ROWS, Kind
from cxlab.error import Code, InputError, MachineError
from cxlab.output import say

#: Between them they have every kind of component: a CXL device, another socket.
MACHINES = ("8468v-asic", "8468v-remote")
OPTION = "an option of "
#: Begins what one word is beside the others of its kind: a stage, in the core.
DETAIL = re.compile(r",|;| of | \[")
#: How many words that look alike are listed.
MOST_ALIKE = 5


@dataclass(frozen=True)
class Meaning:
    """One meaning of a word."""

    word: str
    #: a stage, a statistic, an option of a command ...
    what: str
    text: str
    #: what tables or sentences show in its place
    shown: str = ""


def plain(word: str) -> str:
    """A word as it is looked up: `--r-t` and `R_t` are one, so are `dram.loads` and `load`."""
    bare = word.strip().lstrip("-").replace("-", "_").replace(" ", "_").lower().rpartition(".")[2]
    return bare if bare.endswith("ss") else bare.removesuffix("s")


def everything() -> Iterator[Meaning]:
    """Every word that has a meaning."""
    for word, text in WORDS.items():
        yield Meaning(word, "a word of CXLab's results", text)
    for name, place, description in model.stages():
        where = {
            "core": "the core",
            "home": "the home agents and the mesh",
            "fabric": "the way to the device",
        }
        yield Meaning(name, f"a stage of a request, in {where.get(place, f'the {place}')}", description)
    for name, description in model.causes():
        yield Meaning(name, "a cause of the CPI stack", description)
    for key, row in (*ROWS.items(), *NODE_ROWS.items()):
        what = f"a part of a run's time, in tables `{row.label}`"
        yield Meaning(key, what, row.description, shown=row.label)
    for kind in Kind:
        yield Meaning(
            kind.name.lower(), f"a kind of slowdown, in a sentence `{kind.value}`", kind.description
        )
    yield from _errors()
    yield from _statistics()
    yield from _options()


def _errors() -> Iterator[Meaning]:
    for code, text in model.errors():
        yield Meaning(code, "an error of the model; braces stand for what the message names", text)
    for wrong in Code:
        yield Meaning(wrong.value, "wrong input, exit status 2", wrong.meaning)
    for error in MachineError.__subclasses__():
        if "code" in vars(error):
            text = " ".join((error.__doc__ or "").split())
            yield Meaning(error.code, f"an error of the simulator, exit status {error.status}", text)


def _statistics() -> Iterator[Meaning]:
    seen = set()
    for machine in MACHINES:
        for meaning in _of_part(model.statistics(machine), ""):
            if (meaning.word, meaning.text) not in seen:
                seen.add((meaning.word, meaning.text))
                yield meaning


def _of_part(part: Part, path: str) -> Iterator[Meaning]:
    for entry in part.statistics:
        where = f" of {path.rstrip('.')}" if path else ""
        yield Meaning(entry.name, f"a statistic{where} [{entry.unit}]", entry.description)
    for inner in part.parts:
        if inner.name not in ("stages", "cpi_stack"):
            yield from _of_part(inner, f"{path}{inner.name}.")


def _options() -> Iterator[Meaning]:
    context = click.get_current_context()
    root = context.find_root().command
    if isinstance(root, click.Group):
        yield from _options_of(root, context, "cxlab")


def _options_of(group: click.Group, context: click.Context, path: str) -> Iterator[Meaning]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _options_of(command, context, f"{path} {name}")
            continue
        for option in command.params if command is not None else ():
            if isinstance(option, click.Option) and option.help:
                flag = next((flag for flag in option.opts if flag.startswith("--")), None)
                if flag is not None:
                    yield Meaning(flag, f"{OPTION}`{path} {name}`", option.help)


def meanings(word: str) -> list[Meaning]:
    """All meanings of a word.

    Raises:
        InputError: it has none; words that look like it are listed.

    """
    known = list(everything())
    asked = plain(word)
    found = [meaning for meaning in known if asked in (plain(meaning.word), plain(meaning.shown))]
    if not found:
        words = {plain(meaning.word): meaning.word for meaning in known}
        alike = difflib.get_close_matches(asked, words, MOST_ALIKE, cutoff=0.5)
        alike += [word for word in words if asked and asked in word and word not in alike][:MOST_ALIKE]
        close = ", ".join(["a word that `cxlab explain --list` prints", *(words[name] for name in alike)])
        raise InputError(Code.UNKNOWN_WORD, word, "no word of CXLab's results", close)
    return found


@click.command(
    "explain",
    help="Say what a word of CXLab's results means.\n\n"
    "WORD stands in a table or a message of CXLab. It is a stage, a statistic, an option or an error code. "
    "It can also be a part or a kind of a slowdown, or a symbol of the cost model.\n\n"
    "Example: cxlab explain fill_buffer",
)
@click.argument("word", metavar="WORD", required=False)
@click.option("--list", "listed", is_flag=True, help="List all words, with what each one is.")
def command(word: str | None, listed: bool) -> int:
    """A line for each meaning, options of the same text together."""
    if (word is None) != listed:
        found = "both are given" if listed else "none is given"
        raise InputError(Code.UNKNOWN_WORD, "WORD, --list", found, "one of them")
    if word is None:
        _list()
        return 0
    said: dict[tuple[str, str], list[str]] = {}
    for meaning in meanings(word):
        said.setdefault((meaning.word, meaning.text), []).append(meaning.what)
    for (name, text), whats in said.items():
        say(f"{name}: {_listed(whats)}", "  ")
        say(text, "  ", first="  ")
    return 0


def _list() -> None:
    """Each word once, under the first thing that it is; options are in the help of their commands."""
    words: dict[str, list[str]] = {}
    seen = set()
    for meaning in everything():
        if meaning.word not in seen and not meaning.what.startswith(OPTION):
            seen.add(meaning.word)
            kind = DETAIL.split(meaning.what, maxsplit=1)[0]
            words.setdefault(kind, []).append(meaning.word)
    for kind, those in words.items():
        say(f"Each is {kind}:", "  ")
        say(", ".join(those), "  ", first="  ")


def _listed(whats: list[str]) -> str:
    """The things that a word means, in one list. The commands that have it as an option come last."""
    commands = [what.removeprefix(OPTION) for what in whats if what.startswith(OPTION)]
    others = [what for what in whats if not what.startswith(OPTION)]
    return ", ".join([*others, OPTION + ", ".join(commands)] if commands else others)
