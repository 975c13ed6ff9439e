"""The journal: a line for each try that was made, and the table of all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
from judge import ENDS, Verdict
from msgspec import Struct, field
from rich.console import Console
from rich.table import Table
from tries import Try


class Entry(Struct, frozen=True):
    """A line of the journal."""

    what: Try = field(name="try")
    verdict: Verdict


class Journal:
    """Tries and their verdicts, in a file if one was asked for."""

    def __init__(self, file: Path | None) -> None:
        """Read what is there already."""
        self.file = file
        self.done: dict[int, tuple[Try, Verdict]] = {}
        if file is not None and file.is_file():
            for line in file.read_text().splitlines():
                entry = msgspec.json.decode(line, type=Entry)
                self.done[entry.what.number] = (entry.what, entry.verdict)

    def add(self, what: Try, verdict: Verdict) -> None:
        """A try was made."""
        self.done[what.number] = (what, verdict)
        if self.file is not None:
            with self.file.open("a") as file:
                file.write(msgspec.json.encode(Entry(what, verdict)).decode() + "\n")

    def show(self, console: Console) -> int:
        """Print the table, then the tries that found something: how many these are."""
        table = Table()
        for place, heading in enumerate(("mode", "tries", *ENDS, "defects")):
            table.add_column(heading, justify="right" if place else "left")
        for name in dict.fromkeys(what.mode for what, _ in self.done.values()):
            verdicts = [verdict for what, verdict in self.done.values() if what.mode == name]
            ends = Counter(verdict.end for verdict in verdicts)
            bad = sum(bool(verdict.found) for verdict in verdicts)
            counts = (len(verdicts), *(ends[end] for end in ENDS), bad)
            table.add_row(name, *(str(count) for count in counts))
        console.print(table)
        defects = [(what, verdict) for what, verdict in self.done.values() if verdict.found]
        for what, verdict in defects:
            console.print(f"try {what.number}: {what.mode}: {what.text()}: {'; '.join(verdict.found)}")
        return len(defects)
