"""Reads which module of a Rust crate imports which, from the source text.

    imports(crates/access/src)  ->  [Import("ring", "record", ring.rs), ...]

A module is named by its path below the crate's root, ``trace::reader``; the root itself is the empty name.
Paths count wherever they stand: in ``use`` and in code. Modules that are compiled for tests only do not
count. Not known: paths that a macro makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: A module below the crate's root, segment by segment.
Module = tuple[str, ...]

_COMMENT = re.compile(r"//[^\n]*")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub\s+)?mod\s+\w+\s*\{")
_DECLARED = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", re.MULTILINE)
_ELSEWHERE = re.compile(r'#\[path = "([^"]+)"\]\s*(?:#\[[^\]]*\][^\n]*\s*)*mod\s+(\w+)\s*;')
_REEXPORT = re.compile(r"^\s*pub\s+use\s+([^;]+);", re.MULTILINE)
_MACRO = re.compile(r"#\[macro_export\]\s*macro_rules!\s*(\w+)")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Import:
    """One module names another."""

    by: str
    of: str
    file: Path


def module_of(file: Path, sources: Path) -> Module:
    """The module that a file is the text of."""
    path = file.relative_to(sources).with_suffix("").parts
    return path[:-1] if path[-1] in ("lib", "main", "mod") else path


def modules(sources: Path) -> dict[Module, Path]:
    """Every module of a crate with its file, those that the root takes from another crate's folder too."""
    files = {module_of(file, sources): file for file in sorted(sources.rglob("*.rs"))}
    roots = [file for module, file in files.items() if module == ()]
    taken = {
        (name,): root.parent / path for root in roots for path, name in _ELSEWHERE.findall(root.read_text())
    }
    return files | taken


def imports(sources: Path) -> list[Import]:
    """Every import between two modules of the crate whose ``src`` folder this is."""
    files = modules(sources)
    texts = {module: code_of(file.read_text()) for module, file in files.items()}
    known = set(files)
    exported = _exported(texts.get((), ""), known)
    macros = {name: module for module, text in texts.items() for name in _MACRO.findall(text)}
    found: dict[tuple[Module, Module], Import] = {}
    for module, text in texts.items():
        for path in _paths(text, module):
            target = _target(path, known, exported, macros)
            if target != module:
                found.setdefault(
                    (module, target), Import("::".join(module), "::".join(target), files[module])
                )
    return list(found.values())


def code_of(text: str) -> str:
    """The text without comments, strings and test modules."""
    text = _COMMENT.sub("", _STRING.sub('""', text))
    while match := _TEST_MODULE.search(text):
        text = text[: match.start()] + text[_closing(text, match.end()) :]
    return text


def _closing(text: str, start: int) -> int:
    """Behind the brace that closes the one before ``start``."""
    depth = 1
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position + 1
    return len(text)


def _exported(root: str, known: set[Module]) -> dict[str, Module]:
    """Names that the crate's root re-exports, each with its module."""
    names: dict[str, Module] = {}
    for tree in _REEXPORT.findall(root):
        for path in _spread(tree.strip().removeprefix("crate::")):
            names[path[-1]] = _longest(path, known)
    return names


def _paths(text: str, module: Module) -> Iterator[Module]:
    """The paths from the crate's root that a module's text names."""
    children = "".join(rf"|{name}" for name in _DECLARED.findall(text))
    for match in re.finditer(rf"(?<![\w:$])(crate|self|super{children})::", text):
        for path in _spread(text[match.start() :]):
            yield _absolute(path, module)


def _absolute(path: Module, module: Module) -> Module:
    first, rest = path[0], path[1:]
    if first == "crate":
        return rest
    if first == "self":
        return (*module, *rest)
    if first != "super":
        return (*module, *path)
    while rest and rest[0] == "super":
        module, rest = module[:-1], rest[1:]
    return (*module[:-1], *rest)


def _spread(text: str) -> list[Module]:
    """The paths of a use tree at the beginning of a text: ``a::{b, c::d}`` is ``a::b`` and ``a::c::d``."""
    return _tree(text, 0)[0]


def _tree(text: str, at: int) -> tuple[list[Module], int]:
    at = _skip_space(text, at)
    if text[at : at + 1] == "{":
        paths: list[Module] = []
        at += 1
        while at < len(text) and text[at] != "}":
            some, at = _tree(text, at)
            paths += some
            # a new name (`as`), a glob, a comma
            while at < len(text) and text[at] not in "},":
                at += 1
            at = _skip_space(text, at + (text[at : at + 1] == ","))
        return paths, at + 1
    word = _WORD.match(text, at)
    if word is None:
        return [()], at
    if text.startswith("::", word.end()):
        below, end = _tree(text, word.end() + 2)
        return [(word.group(), *path) for path in below], end
    return [(word.group(),)], word.end()


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _longest(path: Module, known: set[Module]) -> Module:
    """The innermost module that a path leads to."""
    for length in range(len(path), 0, -1):
        if path[:length] in known:
            return path[:length]
    return ()


def _target(
    path: Module, known: set[Module], exported: dict[str, Module], macros: dict[str, Module]
) -> Module:
    found = _longest(path, known)
    if found or not path:
        return found
    return exported.get(path[0], macros.get(path[0], ()))
