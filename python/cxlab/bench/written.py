"""A bench's result as ``--json`` has written it, read back with types.

    Result.document() --> file --> Written

A point has one key more if something varies from point to point: the mix, the kernel and so on.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import UNSET, Struct, UnsetType

from cxlab.border import BenchPoint


class Varied(Struct, frozen=True):
    """Settings that can vary from point to point. A point without the key has it unset."""

    mix: str | UnsetType = UNSET
    kernel: str | UnsetType = UNSET
    instruction: str | UnsetType = UNSET
    threads: int | UnsetType = UNSET
    size: str | int | UnsetType = UNSET


class Written(Struct, frozen=True):
    """A result's file."""

    machine: str
    node: str
    points: list[msgspec.Raw]

    def figures(self) -> tuple[BenchPoint, ...]:
        """Read the points."""
        return tuple(msgspec.json.decode(point, type=BenchPoint) for point in self.points)

    def varied(self) -> tuple[str, tuple[str | int, ...]] | None:
        """Name of what varies, and its value at each point; None: only the delay varies."""
        found = [msgspec.json.decode(point, type=Varied) for point in self.points]
        for name in Varied.__struct_fields__:
            values = tuple(getattr(one, name) for one in found)
            if values[0] is not UNSET:
                return name, values
        return None


def read(file: Path) -> Written:
    """Read a result that this CXLab wrote."""
    return msgspec.json.decode(file.read_bytes(), type=Written)
