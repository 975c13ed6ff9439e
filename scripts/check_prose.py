"""Check the prose of documents and the summary lines of the code: one idea a sentence, at most 25 words.

    *.md                              every sentence has at most 25 words
    *.md, docstrings, ``//!``, ``///``   no sentence of a document and no summary line opens with an inversion

A span of code is one word, a link is its text. Fences of code are left out. A summary line says what the
thing is or does, so it does not open with "Of", "The same" or "As above". "Who" is for questions only.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Words of a sentence, at most.
MOST_WORDS = 25
#: A period of these ends no sentence.
ABBREVIATIONS = re.compile(r"\b(al|cf|e\.g|i\.e|no|vol|vs)\.", re.IGNORECASE)
END = re.compile(r"(?<=[.!?])[*\"”)]*\s+")
WORD = re.compile(r"[\w.,/'’%-]*\w[\w.,/'’%-]*")
#: In a document, a sentence that opens so is an inversion.
OPENINGS_OF_SENTENCES = re.compile(r"^(Who|Whose|What comes|As above)\b")
#: A summary line that opens so does not say what the thing is or does.
OPENINGS_OF_SUMMARIES = re.compile(r"^(Of|Who|Whose|The same|As above|As it|As the|What comes)\b")
#: Places whose summary lines are still to be rewritten.
LATER = (
    "crates/model/src/core",
    "crates/model/src/home",
    "crates/model/src/media",
    "crates/model/src/cache/prefetch",
)


def sentences(paragraph: str) -> list[str]:
    """Sentences of a paragraph, with a word in the place of each span of code."""
    text = re.sub(r"`+[^`]*`+", "CODE", paragraph)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = ABBREVIATIONS.sub(r"\1", text)
    return [sentence.strip() for sentence in END.split(text) if sentence.strip()]


def paragraphs(markdown: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items of lists and cells of tables, each with the number of its first line."""
    first, found, fenced = 0, list[str](), False
    for number, line in enumerate([*markdown.splitlines(), ""], 1):
        text = line.strip()
        fence = text.startswith("```")
        item = re.match(r"(?:[-*]|\d+\.)\s+(.*)", text)
        if found and (fence or item or not text or text.startswith(("#", "|"))):
            yield first, " ".join(found)
            found = []
        fenced ^= fence
        if fenced or fence or not text or text.startswith("#") or (not found and line.startswith("    ")):
            continue
        if text.startswith("|"):
            yield from ((number, cell.strip()) for cell in text.strip("|").split(" | "))
            continue
        first = first if found else number
        found.append(item[1] if item else text)


def faults_of_document(markdown: str) -> list[tuple[int, str]]:
    """Return what is wrong with a document, by line."""
    found = []
    for line, paragraph in paragraphs(markdown):
        for sentence in sentences(paragraph):
            count = len(WORD.findall(sentence))
            if count > MOST_WORDS:
                found.append((line, f"{count} words in a sentence, at most {MOST_WORDS}: {sentence:.60}..."))
            if OPENINGS_OF_SENTENCES.match(sentence) and not sentence.endswith("?"):
                found.append((line, f"a sentence opens with an inversion: {sentence:.60}"))
    return found


def summaries_of_python(source: str) -> Iterator[tuple[int, str]]:
    """First lines of all docstrings."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text.splitlines()[0]


def summaries_of_rust(source: str) -> Iterator[tuple[int, str]]:
    """First lines of all documentation comments. Those of fields begin small, and are not judged."""
    before = ""
    for number, line in enumerate(source.splitlines(), 1):
        found = re.match(r"\s*(//[/!])\s?(.*)", line)
        if found and before != found[1]:
            yield number, found[2]
        before = found[1] if found else ""


def faults_of_summaries(summaries: Iterator[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the summary lines that do not say what the thing is or does."""
    return [
        (line, f"a summary line says what the thing is or does, not: {text:.60}")
        for line, text in summaries
        if OPENINGS_OF_SUMMARIES.match(text) and not text.endswith("?")
    ]


def faults_of(path: str, text: str) -> list[str]:
    """Return what is wrong with a file, each with its place."""
    if path.endswith(".md"):
        found = faults_of_document(text)
    elif path.startswith(LATER):
        return []
    else:
        read = summaries_of_python if path.endswith(".py") else summaries_of_rust
        found = faults_of_summaries(read(text))
    return [f"{path}:{line}: {fault}" for line, fault in found]


def main() -> int:
    """Print the faults."""
    patterns = ["*.md", "python/cxlab/*.py", "crates/*/src/*.rs"]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [file for file in listed.splitlines() if (ROOT / file).is_file()]
    faults = [fault for file in files for fault in faults_of(file, (ROOT / file).read_text())]
    for fault in faults:
        print(f"check_prose: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
