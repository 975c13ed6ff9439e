"""One sentence about ``--check``: how much it has checked, by kind."""

from __future__ import annotations

from collections.abc import Iterable

from cxlab import model
from cxlab.border import Checked

#: What is said of each count.
WORDS = {
    "dram_commands": "DRAM commands",
    "flash_operations": "flash operations",
    "coherence_transitions": "coherence transitions",
    "cached_lines": "cached lines",
    "cxl_messages": "CXL messages",
    "cxl_credits": "CXL credits",
    "cxl_flits": "CXL flits",
    "translations": "translations",
    "times": "times",
}


def total(parts: Iterable[Checked]) -> Checked:
    """Add the counts of several machines."""
    all_of_them = [model.document(part) for part in parts]
    return Checked(**{count: sum(part[count] for part in all_of_them) for count in WORDS})


def sentence(checked: Checked) -> str:
    """Number of things checked of each kind. A broken rule would have ended the command: none was broken."""
    counts = model.document(checked)
    there_were = [f"{counts[count]:,} {words}" for count, words in WORDS.items() if counts[count]]
    nothing = [words for count, words in WORDS.items() if not counts[count]]
    without = f"; there were no {', '.join(nothing)}" if nothing else ""
    return f"{', '.join(there_were)}: 0 violations{without}"
