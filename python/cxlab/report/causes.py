"""Slowdown and its causes, from a comparison's JSON file (`cxlab compare --json FILE`).

A comparison has `columns`. Each has a `label`, its `slowdown` over the first column, and `because`. The
last is the extra time of each part, as a share of the first column's time. The sum is `slowdown` - 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from cxlab.compare import parts
from cxlab.report.chart import Axis, Chart, stacks


class _Column(Struct, frozen=True):
    label: str
    slowdown: float
    because: Mapping[str, float]
    #: of sampled columns; null where too few windows tell of a part
    because_intervals: Mapping[str, tuple[float, float] | None] | None = None

    def told(self) -> dict[str, float]:
        """Parts by the names that tables give them, without those that cannot be told."""
        intervals = self.because_intervals or {}
        return {
            parts.label(part): share
            for part, share in self.because.items()
            if part not in intervals or intervals[part] is not None
        }

    def is_whole(self) -> bool:
        """Whether all parts can be told."""
        return len(self.told()) == len(self.because)


class _Causes(Struct, frozen=True):
    """Fields that are read of a comparison."""

    columns: Sequence[_Column]


def of_file(path: Path) -> Chart | None:
    """Draw a comparison. Another kind of file gives None."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Causes).columns
    except (ValueError, OSError):
        return None
    columns = {column.label: column.told() for column in found}
    told = ", ".join(f"{column.label} {column.slowdown:.2f} times" for column in found)
    adds_up = "Each stack adds up to the slowdown less one."
    if not all(column.is_whole() for column in found):
        adds_up = "Parts that too few windows of a sample saw are left out."
    alt = f"Time over the first column's: {told}. {adds_up}"
    return stacks("Slowdown and its causes", alt, Axis("longer, in times of the first column"), columns)


def in_folder(folder: Path) -> list[Chart]:
    """Every comparison among the JSON files of ``folder``."""
    return [chart for path in sorted(folder.glob("*.json")) if (chart := of_file(path)) is not None]
