"""A TOML file whose errors name the file, the line and the key.

`tomllib` keeps no positions, so the line of a key is found again in the text, by table and occurrence.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from cxlab.error import Code, InputError


@dataclass(frozen=True)
class TomlFile:
    """The text of a file and what it holds."""

    path: Path
    text: str
    content: dict[str, object]

    @classmethod
    def read(cls, path: Path) -> TomlFile:
        """Read and parse. Raises `InputError` for a file that cannot be read or is not TOML."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
            raise InputError(Code.UNREADABLE, str(path), f"{reason}", "a readable TOML file") from error
        try:
            return cls(path, text, tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise InputError(Code.UNREADABLE, str(path), str(error), "a TOML file") from error

    def table(self, name: str) -> dict[str, object]:
        """Return a table. Raises `InputError` when it is missing or not a table."""
        table = self.content.get(name)
        if not isinstance(table, dict):
            raise InputError(Code.MISSING, f"{self.path}: [{name}]", "is not there", f"a table [{name}]")
        return table

    def field(self, table: str, key: str, occurrence: int = 0) -> str:
        """Name a key for an error: `file:line: [table] key`."""
        header = f"[{table}]", f"[[{table}]]"
        seen, inside, line_of_table = -1, table == "", 0
        for number, line in enumerate(self.text.splitlines(), 1):
            bare = line.split("#")[0].strip()
            if bare.startswith("["):
                inside = bare in header
                seen += inside
                if inside and seen == occurrence:
                    line_of_table = number
            elif inside and max(seen, 0) == occurrence and bare.split("=")[0].strip().strip('"') == key:
                return f"{self.path}:{number}: {self._title(table)}{key}"
        return f"{self.path}:{line_of_table or 1}: {self._title(table)}{key}"

    @staticmethod
    def _title(table: str) -> str:
        return f"[{table}] " if table else ""

    def check_keys(self, table: str, found: dict[str, object], valid: set[str], occurrence: int = 0) -> None:
        """Raise `InputError` for the first key that does not belong, listing those that do."""
        for key in found:
            if key not in valid:
                field = self.field(table, key, occurrence)
                raise InputError(Code.UNKNOWN_KEY, field, "unknown key", ", ".join(sorted(valid)))
