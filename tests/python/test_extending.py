"""EXTENDING.md names files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Where a recipe's paths begin, as its first paragraph says.
PLACES = (ROOT, ROOT / "crates/model/src", ROOT / "crates/model")
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)`")


def test_every_path_of_a_recipe_exists() -> None:
    named = [path for path in PATH.findall((ROOT / "EXTENDING.md").read_text()) if "NAME" not in path]
    assert len(named) > 30
    # `micro23/fig3` is a figure's id, not a file.
    lost = [path for path in named if "fig3" not in path and not any((at / path).exists() for at in PLACES)]
    assert lost == []
