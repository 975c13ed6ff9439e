"""A machine as it is asked for: its name or file, and the settings that change it (``--set KEY=VALUE``)."""

from __future__ import annotations

from typing import Any


class AskedMachine(str):
    """The name or file, as text; the model is told the settings beside it."""

    settings: tuple[str, ...]

    def __new__(cls, name: str, settings: tuple[str, ...] = ()) -> AskedMachine:
        """Keep the settings with the name."""
        asked = super().__new__(cls, name)
        asked.settings = settings
        return asked

    def __getnewargs__(self) -> tuple[str, tuple[str, ...]]:  # type: ignore[override]
        """Arguments with which pickle makes the machine again in another process."""
        return str(self), self.settings


def settings_of(machine: object) -> list[str]:
    """The settings of a machine; a plain name has none."""
    return list(machine.settings) if isinstance(machine, AskedMachine) else []


def keys_of(machine: str) -> dict[str, Any]:
    """Return a document's keys of the machine: its name, and its settings if there are any."""
    settings = settings_of(machine)
    return {"machine": str(machine), **({"set": settings} if settings else {})}
