"""Takes the figures that a file makes now off the two lists of what is missing.

    experiments/papers/*.py, MAKES --> experiments/figures.toml   the figure's `not_yet` goes
                                   --> DEVIATIONS.md              its id goes from its FIG row, empty rows too

Run it after you have written a figure's file. Tests fail while a figure is both made and on a list.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURE = re.compile(r'^id = "(.*)"$', re.MULTILINE)
NOT_YET = re.compile(r"^not_yet = .*\n?", re.MULTILINE)
ROW = re.compile(r"^(\| FIG-\d+ not made: )(.*?)( \|.*\n)", re.MULTILINE)


def without_reason(figures: str, made: set[str]) -> str:
    """The text of figures.toml, in which no figure that is made says why it is not."""
    tables = figures.split("[[papers.figures]]")
    return "[[papers.figures]]".join(
        NOT_YET.sub("", table) if (found := FIGURE.search(table)) and found[1] in made else table
        for table in tables
    )


def without_rows(deviations: str, made: set[str]) -> str:
    """The text of DEVIATIONS.md, in which no row names a figure that is made."""

    def row(match: re.Match[str]) -> str:
        left = [figure for figure in match[2].split(", ") if figure not in made]
        return f"{match[1]}{', '.join(left)}{match[3]}" if left else ""

    return ROW.sub(row, deviations)


def main() -> int:
    """Rewrite both lists where they differ."""
    sys.path.insert(0, str(ROOT))
    from experiments.paper_figures import all_figures

    made = {figure.id for figure in all_figures() if figure.experiments}
    for file, without in (("experiments/figures.toml", without_reason), ("DEVIATIONS.md", without_rows)):
        text = (ROOT / file).read_text()
        changed = without(text, made)
        if changed != text:
            (ROOT / file).write_text(changed)
            print(f"{file}: what is made is no longer called missing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
