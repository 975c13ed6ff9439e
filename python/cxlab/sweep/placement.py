"""Placement of a workload's pages: a value of the axis `placement`, for a bench, a guest or a replay.

::

    cxl             all on one node
    dram,cxl        page by page
    dram=3,cxl=1    page by page, by weight
    default         as Linux places them, or as they were recorded; a bench has no default
"""

from __future__ import annotations

from cxlab.bench.request import Placement

DEFAULT = "default"
VALID = "a node (cxl), nodes (dram,cxl), weighted nodes (dram=3,cxl=1), or default"


def parse(text: str) -> Placement | None:
    """The nodes and their weights; None: the default.

    Raises:
        InputError: it is no placement.

    """
    if text == DEFAULT:
        return None
    if "=" in text:
        return Placement.parse(None, None, text)
    return Placement.parse(None, text, None) if "," in text else Placement.parse(text, None, None)


def options(text: str) -> list[str]:
    """Return the placement as options of ``cxlab run``."""
    placed = parse(text)
    if placed is None:
        return []
    if "=" in text:
        return ["--weighted-interleave", text]
    return ["--interleave" if len(placed.shares) > 1 else "--membind", text]
