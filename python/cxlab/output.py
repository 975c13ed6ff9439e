"""Output of commands: files that are whole or absent, and tables for people.

write_json, write_csv, write_parquet, write_text --> whole(path), a file that takes its name at the end
table(...) --> console()
"""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import sys
import textwrap
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from cxlab.error import Code, HostRefuses, InputError
from cxlab.file_format import KEY, Format
from cxlab.whole_file import WholeFile

Cell = str | int | float
#: The file name that stands for it, as in other tools.
STANDARD_OUTPUT = Path("-")
#: Characters a line, where no terminal says how many.
WIDE = 150
#: Least width of a column whose words may break over lines [characters].
FOLDED = 18
#: A cell's padding and its frame [characters].
BESIDE_A_CELL = 3
#: What a disk says that takes no more: of whatever path the user had given there.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def keep_standard_output_for_data() -> None:
    """Let what is for people go to standard error: standard output has the file ``-`` alone."""
    sys.stdout.flush()
    sys.stdout = sys.stderr


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """Give the file ``path``, which is whole or absent: it has its name when the block ends without an error.

    What is no regular file, a device or a pipe, is written through (`cxlab.whole_file`).
    ``-`` is standard output.

    Raises:
        InputError: the file cannot be written there.
        HostRefuses: the disk is full, or there is a limit.

    """
    if path == STANDARD_OUTPUT:
        with os.fdopen(os.dup(1), "wb") as data:
            yield data
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        output = WholeFile(path)
        try:
            yield output.file
            output.commit()
        finally:
            output.discard()
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> InputError | HostRefuses:
    why = error.strerror or str(error)
    if error.errno in FULL:
        return HostRefuses(f"{path} was not written: {why}. Free some space, or give a path on another disk")
    return InputError(Code.UNWRITABLE, str(path), why, "a path that can be written")


def write_text(path: Path, text: str) -> None:
    """Write text, whole or not at all."""
    with whole(path) as file:
        file.write(text.encode())


def write_json(path: Path, content: Mapping[str, Any], form: Format | None) -> None:
    """Write JSON, whole or not at all. Numbers that are not finite become null.

    A format of others (None) has its own word for its version.
    """
    document = content if form is None else {KEY: form.value, **content}
    write_text(path, json.dumps(_finite(document), indent=2, allow_nan=False) + "\n")


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Write CSV, whole or not at all. The header carries the units."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_text(path, buffer.getvalue())


def write_parquet(path: Path, columns: Mapping[str, Sequence[Cell | None]], form: Format) -> None:
    """Write a table of a format as Parquet, whole or not at all. A column's name ends in its unit.

    A column given as `array("d")` is written without pandas, whose import takes longer than a small run.
    """
    # The import takes a quarter of a second, and only runs with detail need it.
    import pyarrow
    from pyarrow import parquet

    def column(values: Sequence[Cell | None]) -> pyarrow.Array:
        if isinstance(values, array):
            buffers = [None, pyarrow.py_buffer(values)]
            return pyarrow.Array.from_buffers(pyarrow.float64(), len(values), buffers)
        # Of a list, pyarrow asks pandas whether it is pandas' own, and imports it.
        return pyarrow.array(values)

    with whole(path) as file:
        table = pyarrow.table({name: column(values) for name, values in columns.items()})
        parquet.write_table(table.replace_schema_metadata({KEY: form.value}), file)


def console() -> Console:
    """Return standard output. In a file or a pipe, lines are `WIDE`, or as long as COLUMNS says."""
    terminal = Console()
    return Console(width=width(terminal))


def width(shown: Console) -> int:
    """Characters of a line: a terminal's, or what COLUMNS says, or `WIDE`."""
    return shown.width if shown.is_terminal or "COLUMNS" in os.environ else WIDE


def say(text: str, indent: str = "", first: str = "") -> None:
    """Write a paragraph to standard output, broken over lines. Lines after the first one have the indent."""
    shown = console()
    print(wrapped(text, indent, shown.width, first=first), file=shown.file)


def wrapped(text: str, indent: str, width: int, first: str | None = None) -> str:
    """Break text over lines of at most this width, each with the indent. The first one can have its own."""
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    wrapper.subsequent_indent = indent
    wrapper.initial_indent = indent if first is None else first
    return wrapper.fill(text)


class WholeRows(Table):
    """A table that cuts no cell. If it is too wide, its columns go on in a further table below.

    Each further table repeats the first columns, which name the rows. A name that takes most of a line folds.
    """

    #: number of first columns that name a row
    naming = 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render in as many tables as the width asks for."""
        whole, title = self.columns, self.title
        for part in self._parts(console, options):
            self.columns = [replace(column, _index=place) for place, column in enumerate(part)]
            yield from super().__rich_console__(console, options)
            self.title = None
        self.columns, self.title = whole, title

    def _parts(self, console: Console, options: ConsoleOptions) -> list[list[Column]]:
        """Deal the columns to tables that fit."""

        def width(column: Column) -> int:
            cells = (column.header, *column.cells)
            widest = max(Measurement.get(console, options, cell).maximum for cell in cells)
            return (widest if column.no_wrap else min(widest, FOLDED)) + BESIDE_A_CELL

        names, others = self.columns[: self.naming], self.columns[self.naming :]
        # With the numbers beside it if they fit into half of a line.
        numbers = min(sum(map(width, others)) + 1, options.max_width // 2)
        if self.naming == 1 and width(names[0]) > options.max_width - numbers:
            room = options.max_width - numbers - BESIDE_A_CELL
            names = [replace(names[0], no_wrap=False, overflow="fold", max_width=room, min_width=room)]
            return [[*names, *part] for part in self._dealt(others, numbers, width)]
        room = options.max_width - sum(map(width, names)) - 1
        return [[*names, *part] for part in self._dealt(others, room, width)]

    @staticmethod
    def _dealt(columns: Sequence[Column], room: int, width: Callable[[Column], int]) -> list[list[Column]]:
        """Deal columns to tables: as many to each as there is room for, but at least one."""
        parts: list[list[Column]] = [[]]
        left = room
        for column in columns:
            if parts[-1] and width(column) > left:
                parts.append([])
                left = room
            parts[-1].append(column)
            left -= width(column)
        return parts


def table(
    headings: Sequence[str], *, title: str | None = None, left: int = 1, plain: bool = False, fold: int = 0
) -> Table:
    """Make a table whose first ``left`` columns are words and whose other columns are numbers.

    Args:
        headings: one a column; a unit stands in brackets.
        title: above the table.
        left: how many of the first columns are words.
        plain: without a frame, for terminals of 80 columns.
        fold: how many of the last columns are words that may break over lines.

    """
    made = WholeRows(title=title, title_justify="left", box=box.SIMPLE_HEAD if plain else box.HEAVY_HEAD)
    made.naming = max(left, 1)
    for place, heading in enumerate(headings):
        words = place < left or place >= len(headings) - fold
        wraps = place >= len(headings) - fold
        made.add_column(
            escape(heading),
            justify="left" if words else "right",
            no_wrap=not wraps and (plain or not words),
            overflow="fold" if wraps else "ellipsis",
        )
    return made


def facts() -> Table:
    """Make a table of facts: what is told, and its value, without headings or a frame."""
    return Table(show_header=False, box=None, pad_edge=False)


def duration(seconds: float) -> str:
    """Say about how long something takes."""
    for least, length, unit in ((7200, 3600, "hours"), (120, 60, "minutes")):
        if seconds >= least:
            return f"{seconds / length:.0f} {unit}"
    whole_seconds = max(round(seconds), 1)
    return f"{whole_seconds} second{'' if whole_seconds == 1 else 's'}"


def bar() -> Progress:
    """Make a progress bar on standard error. It shows on a terminal and leaves nothing in a log."""
    terminal = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal)
