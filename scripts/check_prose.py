"""Check the prose of documents and of the code's documentation: one idea a sentence, at most 25 words.

    *.md, docstrings, comments      every sentence has at most 25 words
    *.md                            no sentence opens with an inversion
    docstrings, ``//!``, ``///``    no summary line opens with an inversion

A span of code is one word, a link is its text. Fences of code and indented examples are left out. A summary
line says what the thing is or does, so it does not open with "What", "Of", "The same" or "As above". "Who"
is for questions only. Comments on consecutive lines are one text. Directives to other tools are left out.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Guests execute it: another text would move the figures that README.md prints.
MEASURED = ("scripts/demo_workload.py",)
#: Words of a sentence, at most.
MOST_WORDS = 25
#: A period of these ends no sentence.
ABBREVIATIONS = re.compile(r"\b(al|cf|e\.g|i\.e|no|vol|vs)\.", re.IGNORECASE)
END = re.compile(r"(?<=[.!?])[*\"”)]*\s+")
#: Between two columns of text.
COLUMN = re.compile(r" {3,}")
WORD = re.compile(r"[\w.,/'’%-]*\w[\w.,/'’%-]*")
#: In a document, a sentence that opens so is an inversion.
OPENINGS_OF_SENTENCES = re.compile(r"^(Who|Whose|What comes|As above)\b")
#: A summary line that opens so does not say what the thing is or does.
OPENINGS_OF_SUMMARIES = re.compile(r"^(Of|Who|Whose|What|The same|As above|As it|As the)\b")
#: What a comment of Python says to a tool, not to a reader.
DIRECTIVE = re.compile(r"#!|#:? ?(noqa|type:|ruff:|mypy:|fmt:|pragma:|shellcheck )")


def sentences(paragraph: str) -> list[str]:
    """Sentences of a paragraph, with a word in the place of each span of code."""
    text = re.sub(r"`+[^`]*`+", "CODE", paragraph)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = ABBREVIATIONS.sub(r"\1", text)
    return [sentence.strip() for sentence in END.split(text) if sentence.strip()]


def paragraphs(markdown: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items of lists and cells of tables or columns, each with the number of its first line."""
    first, found, fenced = 0, list[str](), False
    for number, line in enumerate([*markdown.splitlines(), ""], 1):
        text = line.strip()
        fence = text.startswith("```")
        item = re.match(r"(?:[-*]|\d+\.)\s+(.*)", text)
        columns = COLUMN.split(text)
        if found and (fence or item or not text or text.startswith(("#", "|")) or len(columns) > 1):
            yield first, " ".join(found)
            found = []
        fenced ^= fence
        if fenced or fence or not text or text.startswith("#") or (not found and line.startswith("    ")):
            continue
        if text.startswith("|"):
            yield from ((number, cell.strip()) for cell in text.strip("|").split(" | "))
            continue
        if len(columns) > 1:
            yield from ((number, cell) for cell in columns)
            continue
        first = first if found else number
        found.append(item[1] if item else text)


def long_sentences(text: str) -> list[tuple[int, str]]:
    """Return the sentences of a text that have too many words, by line."""
    found = []
    for line, paragraph in paragraphs(text):
        for sentence in sentences(paragraph):
            count = len(WORD.findall(sentence))
            if count > MOST_WORDS:
                found.append((line, f"{count} words in a sentence, at most {MOST_WORDS}: {sentence:.60}..."))
    return found


def inversions(markdown: str) -> list[tuple[int, str]]:
    """Return the sentences of a document that open with an inversion, by line."""
    return [
        (line, f"a sentence opens with an inversion: {sentence:.60}")
        for line, paragraph in paragraphs(markdown)
        for sentence in sentences(paragraph)
        if OPENINGS_OF_SENTENCES.match(sentence) and not sentence.endswith("?")
    ]


def docs_of_python(source: str) -> Iterator[tuple[int, str]]:
    """All docstrings, each with the number of its first line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text:
                place = node.body[0]
                yield place.lineno, text.strip().replace("\n" + " " * place.col_offset, "\n")


def comments_of_python(source: str) -> Iterator[tuple[int, str]]:
    """All comments, each with the number of its first line. One behind code stands alone."""
    last, first, found = (0, -1), 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or DIRECTIVE.match(token.string):
            continue
        line, column = token.start
        if found and (line - 1, column) != last:
            yield first, "\n".join(found)
            found = []
        first = first if found else line
        last = line, column
        found.append(re.sub(r"^#+:? ?", "", token.string))
    if found:
        yield first, "\n".join(found)


def comments_of_toml(source: str) -> Iterator[tuple[int, str]]:
    """All comments of a TOML file or a Makefile that have lines of their own, by the number of the first."""
    return _lines(source, r"\s*(#)(?!!) ?(.*)")


def docs_of_rust(source: str) -> Iterator[tuple[int, str]]:
    """All documentation comments, each with the number of its first line. Those of fields begin small."""
    return _lines(source, r"\s*(//[/!])(?!/) ?(.*)")


def comments_of_rust(source: str) -> Iterator[tuple[int, str]]:
    """All plain comments that have lines of their own, each with the number of its first line."""
    return _lines(source, r"\s*(//)(?![/!]) ?(.*)")


def _lines(source: str, opening: str) -> Iterator[tuple[int, str]]:
    first, kind, found = 0, "", list[str]()
    for number, line in enumerate([*source.splitlines(), ""], 1):
        comment = re.match(opening, line)
        if found and (not comment or comment[1] != kind):
            yield first, "\n".join(found)
            found = []
        if comment:
            first = first if found else number
            kind = comment[1]
            found.append(comment[2])


def long_ones(texts: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the sentences of docstrings or comments that have too many words, by line of the file."""
    return [(line + below - 1, fault) for line, text in texts for below, fault in long_sentences(text)]


def faults_of_code(path: str, source: str) -> list[tuple[int, str]]:
    """Return what is wrong with the documentation and the comments in a file of code, by line."""
    python = path.endswith(".py")
    docs = docs_of_python if python else docs_of_rust
    comments = comments_of_python if python else comments_of_rust
    found = []
    for line, text in docs(source):
        summary = text.splitlines()[0]
        if OPENINGS_OF_SUMMARIES.match(summary) and not summary.endswith("?"):
            found.append((line, f"a summary line says what the thing is or does, not: {summary:.60}"))
    return sorted(found + long_ones(chain(docs(source), comments(source))))


def faults_of(path: str, text: str) -> list[str]:
    """Return what is wrong with a file, each with its place."""
    if path.endswith(".md"):
        found = long_sentences(text) + inversions(text)
    elif path.endswith((".py", ".rs")):
        found = faults_of_code(path, text)
    else:
        found = long_ones(comments_of_toml(text))
    return [f"{path}:{line}: {fault}" for line, fault in found]


def main() -> int:
    """Print the faults."""
    patterns = ["*.md", "*.py", "*.rs", "*.toml", "Makefile", *(f":!{file}" for file in MEASURED)]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [file for file in listed.splitlines() if (ROOT / file).is_file()]
    faults = [fault for file in files for fault in faults_of(file, (ROOT / file).read_text())]
    for fault in faults:
        print(f"check_prose: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
